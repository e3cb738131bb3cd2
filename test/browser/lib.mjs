// What the tests of the dashboard share: starting a program that serves it, and a browser.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(path.resolve(process.env.BROWSER_DIR), 'x.js'));
export const load = (name) => require(name);

export function start(command, args) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const url = new Promise((found, failed) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      const match = text.match(/Dashboard: (http\S+)\//);
      if (match) { text = ''; found(match[1]); } else if (text.length > 1e5) text = text.slice(-1000);
    });
    child.on('exit', () => failed(new Error(command + ' has ended: ' + text)));
  });
  const stop = () => new Promise((done) => { child.on('exit', done); child.stdin.end(); child.kill('SIGINT'); });
  return { url, stop };
}

export async function browse(more = []) {
  const { chromium } = load('playwright-core');
  return chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--enable-precise-memory-info', '--js-flags=--expose-gc', ...more] });
}

export function check(what, message) {
  if (!what) throw new Error(message);
}
export async function until(what, message, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await what();
    if (value) return value;
    if (Date.now() > end) throw new Error('not in time: ' + message);
    await new Promise((done) => setTimeout(done, 100));
  }
}
export async function each(cases) {
  for (const [name, run] of cases) {
    const began = Date.now();
    try { await run(); console.log(`ok    ${name} (${Date.now() - began} ms)`); } catch (problem) { console.log(`FAILED ${name}: ${problem.message}`); process.exitCode = 1; }
  }
}
