// Pictures of the real thing for the README: screenshots.mjs COPPICE FOLDER
import { browse, start, until } from './lib.mjs';

const [, , program, folder] = process.argv;
const server = start(program, ['run', '--seed', '4', '--speed', '1000', '--for', '72h', '--web-address', '127.0.0.1:0']);
const url = await server.url;
const post = (body) => fetch(url + '/api/v1/control', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
const state = async () => (await fetch(url + '/api/v1/state')).json();
// Shortly after noon of the first day, when something waits and something comes.
const noon = 1767592800 + 6.4 * 3600;
await until(async () => (await state()).at > noon, 'noon', 90);
await post({ speed: 120 });
await until(async () => { const t = (await state()).total; return t.pending > 2 && t.coming > 0; }, 'something to see', 60).catch(() => {});
await post({ paused: true });
const browser = await browse();
for (const theme of ['light', 'dark']) {
  const page = await browser.newPage({ viewport: { width: 1360, height: 900 }, colorScheme: theme });
  await page.goto(url + '/');
  await page.waitForTimeout(3500);
  await page.screenshot({ path: `${folder}/dashboard-${theme}.png` });
  for (const [name, where] of Object.entries(process.env.ALL_PAGES ? { 'what-if': '#/what-if', health: '#/health', why: '#/why' } : {})) {
    await page.goto(url + '/' + where);
    await page.waitForTimeout(900);
    if (name === 'what-if') {
      await page.fill('#count', '50');
      await page.click('#ask');
      await page.waitForSelector('#answer', { timeout: 40000 }).catch(() => {});
    }
    await page.screenshot({ path: `${folder}/${name}-${theme}.png`, fullPage: true });
  }
  if (process.env.ALL_PAGES) {
    const s = await state();
    const shape = Object.values(s.pending || {})[0];
    if (shape) { await page.goto(`${url}/#/why/pod/${shape.namespace}/${shape.pods[0]}`); await page.waitForTimeout(900); await page.screenshot({ path: `${folder}/pod-${theme}.png`, fullPage: true }); }
    const list = (await (await fetch(url + '/api/v1/decisions?limit=200')).json()).decisions;
    const up = list.find((d) => d.kind === 'up');
    if (up) { await page.goto(`${url}/#/why/decision/${up.id}`); await page.waitForTimeout(900); await page.screenshot({ path: `${folder}/decision-${theme}.png`, fullPage: true }); }
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(url + '/#/now');
    await page.waitForTimeout(2500);
    await page.screenshot({ path: `${folder}/phone-${theme}.png`, fullPage: true });
  }
  await page.close();
}
await browser.close();
await server.stop();
