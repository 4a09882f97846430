// What the demonstrations share: where their programs are, options, the machine, percentiles, tables.

import { accessSync, constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));

/** A Chromium: CHROME, or the first of the usual names that is in PATH. */
export function browser() {
  const named = process.env.CHROME;
  const names = named ? [named] : ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const found = names.flatMap((name) => name.includes('/') ? [name] : inPath(name)).find(isProgram);
  if (!found) throw new Error('needs a Chromium in PATH, or its name in CHROME; on Debian: apt-get install chromium');
  return found;
}

/** The command qdelay: QDELAY, this checkout's, or the one in PATH. */
export function command() {
  const files = process.env.QDELAY ? [process.env.QDELAY] : [path.join(HERE, '../target/release/qdelay'), ...inPath('qdelay')];
  const found = files.find(isProgram);
  if (!found) throw new Error('needs qdelay: make build, or its name in QDELAY');
  return found;
}

function inPath(name) {
  return (process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, name));
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The trace of the other direction, where there is one. */
export function wayBack(trace) {
  if (trace === 'synth-lte-driving' || trace === 'synth-lte-driving.down') return 'synth-lte-driving.up';
  const file = trace.replace(/\.down$/, '.up');
  try {
    accessSync(file);
    return file === trace ? null : file;
  } catch {
    return null;
  }
}

export function number(option, text, least, most) {
  const value = Number(text);
  if (!(value >= least && value <= most)) throw new Error(`${option} ${text}: expected a number from ${least} to ${most}`);
  return value;
}

/** What the figures hang on, beside the link. */
export async function machine() {
  const congestion = await readFile('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').catch(() => 'unknown');
  return {
    cores: os.cpus().length, processor: os.cpus()[0]?.model ?? 'unknown', kernel: os.release(), node: process.version,
    tcp_congestion_control: congestion.trim(), load_average: os.loadavg()[0],
  };
}

/** Nearest rank; null of nothing. */
export function percentile(values, share) {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

export const fixed = (value, digits) => value === null ? '-' : value.toFixed(digits);

/** Lines of a table with a column for each run; of each row the first two cells are its name and its unit. */
export function columns(rows) {
  const widths = rows[0].map((_, index) => Math.max(...rows.map((row) => row[index].length)));
  const lines = rows.map((row) => row.map((cell, index) => index < 2 ? cell.padEnd(widths[index]) : cell.padStart(widths[index]))
    .join('  ').trimEnd());
  lines.splice(1, 0, '─'.repeat(Math.max(...lines.map((line) => line.length))));
  return lines;
}
