// Writes every dashboard as JSON, or checks that the committed JSON matches this code.
//
//   node build/main.js write FOLDER
//   node build/main.js check FOLDER

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { dashboards } from './dashboards';

function write(folder: string): void {
  fs.mkdirSync(folder, { recursive: true });
  for (const [file, dashboard] of Object.entries(dashboards())) {
    fs.writeFileSync(path.join(folder, file), JSON.stringify(dashboard, null, 2) + '\n');
  }
}

/** Names of the files that are missing from `folder`, unexpected there or different. */
function differences(folder: string): string[] {
  const fresh = fs.mkdtempSync(path.join(os.tmpdir(), 'dashboards-'));
  try {
    write(fresh);
    const committed = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
    const names = new Set([...fs.readdirSync(fresh), ...committed]);
    const content = (file: string) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null);
    return [...names]
      .sort()
      .filter((name) => content(path.join(fresh, name)) !== content(path.join(folder, name)));
  } finally {
    fs.rmSync(fresh, { recursive: true });
  }
}

function main([command, folder]: string[]): number {
  if (folder && command === 'write') {
    write(folder);
    return 0;
  }
  if (folder && command === 'check') {
    const differing = differences(folder);
    for (const name of differing) {
      console.error(`${path.join(folder, name)} differs from the generated dashboard: run "npm run build" and commit the result`);
    }
    return differing.length === 0 ? 0 : 1;
  }
  console.error('usage: main.js write|check FOLDER');
  return 2;
}

process.exitCode = main(process.argv.slice(2));
