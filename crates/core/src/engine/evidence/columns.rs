//! Values by series or variant and by score column. Each search reads several of them, so they are
//! found by position.

use serde::{Deserialize, Serialize};

/// Value with its key.
type Slot<K, T> = Option<Box<(K, T)>>;

/// Values by column and number, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Columns<K, T>(Vec<Vec<Slot<K, T>>>);

impl<K, T> Default for Columns<K, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Into<usize>, T> Columns<K, T> {
    pub(super) fn get(&self, (key, column): &(K, usize)) -> Option<&T> {
        let of_column = self.0.get(*column)?;
        let value = of_column.get((*key).into())?.as_deref();
        value.map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, (key, column): &(K, usize)) -> Option<&mut T> {
        let of_column = self.0.get_mut(*column)?;
        let value = of_column.get_mut((*key).into())?.as_deref_mut();
        value.map(|(_, value)| value)
    }

    pub(super) fn get_or_insert_with(
        &mut self,
        (key, column): (K, usize),
        new: impl FnOnce() -> T,
    ) -> &mut T {
        if self.0.len() <= column {
            self.0.resize_with(column + 1, Vec::new);
        }
        let of_column = &mut self.0[column];
        let number: usize = key.into();
        if of_column.len() <= number {
            of_column.resize_with(number + 1, || None);
        }
        let value = of_column[number].get_or_insert_with(|| Box::new((key, new())));
        &mut value.1
    }

    pub(super) fn get_or_default(&mut self, of: (K, usize)) -> &mut T
    where
        T: Default,
    {
        self.get_or_insert_with(of, T::default)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ((K, usize), &T)> {
        let columns = self.0.iter().enumerate();
        columns.flat_map(|(column, of_column)| {
            let values = of_column.iter().flatten();
            values.map(move |it| ((it.0, column), &it.1))
        })
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = ((K, usize), &mut T)> {
        let columns = self.0.iter_mut().enumerate();
        columns.flat_map(|(column, of_column)| {
            let values = of_column.iter_mut().flatten();
            values.map(move |it| ((it.0, column), &mut it.1))
        })
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, value)| value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values().next().is_none()
    }

    pub(super) fn retain(&mut self, is_kept: impl Fn(K) -> bool) {
        for value in self.0.iter_mut().flatten() {
            value.take_if(|it| !is_kept(it.0));
        }
    }
}

impl<K: Copy + Into<usize>, T> FromIterator<((K, usize), T)> for Columns<K, T> {
    fn from_iter<I: IntoIterator<Item = ((K, usize), T)>>(values: I) -> Self {
        let mut columns = Self::default();
        for (of, value) in values {
            columns.get_or_insert_with(of, || value);
        }
        columns
    }
}
