"""Search records of an invented shop, in a shape of its own, for the test of the first run.

Users see ten products for a query, and click on what they examine and like. Half of the searches have two
neighbours swapped, as a service does that wants to learn from clicks.
"""

import json
import random

SEARCHES, CLICKS = "shop.searches", "shop.clicks"
QUERIES = [f"{colour} {thing}" for colour in ("red", "blue", "green", "black", "white", "grey")
           for thing in ("coat", "boots", "scarf", "tent", "lamp")]
RESULTS = 10
# A lower place is examined less often; users like some products of a query more than others.
EXAMINED = [1 / (place + 1) for place in range(RESULTS)]
LIKED = [0.7, 0.6, 0.5, 0.35, 0.25, 0.15, 0.1, 0.06, 0.04, 0.02]


class Shop:
    """Traffic with event times from `begin` on, in milliseconds. The same seed gives the same records."""

    def __init__(self, begin, seed=51):
        self.now = begin
        self.random = random.Random(seed)
        # The ranking is good, not perfect: the products of a query by what users like, with an error.
        by_estimate = lambda product: LIKED[product] + self.random.gauss(0, 0.25)
        self.orders = [sorted(range(RESULTS), key=by_estimate, reverse=True) for _ in QUERIES]
        self.served = 0

    def traffic(self, searches, step, is_broken=False):
        """Lines of both topics, KEY and record separated by a tab: a search every `step` milliseconds. A broken
        ranking shows the best products last."""
        lines = {SEARCHES: [], CLICKS: []}
        for _ in range(searches):
            self.search(lines, is_broken)
            self.now += step
        return lines

    def search(self, lines, is_broken):
        query = self.random.randrange(len(QUERIES))
        order = list(self.orders[query])
        if self.random.random() < 0.5:
            place = self.random.randrange(RESULTS - 1)
            order[place], order[place + 1] = order[place + 1], order[place]
        if is_broken:
            order.reverse()
        self.served += 1
        request, visitor = f"r{self.served}", f"v{self.served // 3}"
        products = [{"sku": f"p{query}-{product}", "price": 9 + product} for product in order]
        search = {"request_id": request, "visitor": {"session_id": visitor}, "occurred_at": self.now,
                  "search": {"query": QUERIES[query], "took_ms": 20 + query, "products": products}}
        lines[SEARCHES].append(f"{visitor}\t{json.dumps(search)}\n")
        for place, product in enumerate(order):
            if self.random.random() < EXAMINED[place] * LIKED[product]:
                click = {"event_id": f"c{self.served}-{place}", "request_id": request, "visitor": {"session_id": visitor},
                         "occurred_at": self.now + 900 * (place + 1), "action": "product_clicked",
                         "sku": products[place]["sku"], "position": place + 1}
                lines[CLICKS].append(f"{visitor}\t{json.dumps(click)}\n")
