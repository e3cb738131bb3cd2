// The dashboard of a model cluster in a real browser: browser_test.mjs COPPICE
import { browse, check, each, start, until } from './lib.mjs';
import { readFileSync } from 'node:fs';

const server = start(process.argv[2], ['run', '--seed', '7', '--speed', '240', '--for', '72h', '--web-address', '127.0.0.1:0']);
const url = await server.url;
const browser = await browse();
const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
const complaints = [];
page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
page.on('pageerror', (error) => complaints.push(String(error)));
page.on('requestfailed', (request) => { if (!request.url().includes('/events') && !/ERR_ABORTED/.test(request.failure().errorText)) complaints.push(request.url() + ' ' + request.failure().errorText); });
page.on('request', (request) => { if (!request.url().startsWith(url)) complaints.push('asks elsewhere: ' + request.url()); });
const text = (selector) => page.locator(selector).first().innerText();
const state = async () => (await page.request.get(url + '/api/v1/state')).json();
const axe = readFileSync(process.env.BROWSER_DIR + '/node_modules/axe-core/axe.min.js', 'utf8');

// What axe-core calls serious or critical.
async function faults() {
  await page.evaluate(axe); // by the debugger: the page's own policy lets nothing in
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return result.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | '));
}
async function sound(where) {
  for (const theme of ['light', 'dark']) {
    await page.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
    const found = await faults();
    check(found.length === 0, `${where}, ${theme}: ${found.join('; ')}`);
  }
}

await page.goto(url + '/');
await each([
  ['the page fills by itself', async () => {
    await until(async () => (await page.locator('.tile').count()) >= 2, 'tiles');
    await until(async () => Number(await text('.figure dd.n')) >= 2, 'the number of nodes');
    await until(async () => (await page.locator('.feed li').count()) > 0, 'a decision', 60);
    await until(async () => (await text('#live-text')) === 'live', 'the light');
  }],
  ['nothing serious is found on Now', () => sound('Now')],
  ['the model stands still and goes on', async () => {
    await page.click('#pause');
    await until(async () => (await text('#pause')) === 'Go on', 'the button');
    await page.waitForTimeout(400);
    const before = (await state()).at;
    await page.waitForTimeout(900);
    check((await state()).at === before, 'time passes while it is paused');
    await page.click('#pause');
    await until(async () => (await state()).at > before, 'time');
  }],
  ['another speed is another speed', async () => {
    await page.selectOption('#speed', '1000');
    const a = (await state()).at;
    await page.waitForTimeout(1500);
    const b = (await state()).at;
    check(b - a > 500, `1.5 s at 1000 times were ${b - a} s`);
  }],
  ['going back shows the state of then, and coming back the one of now', async () => {
    await until(async () => { const t = await (await page.request.get(url + '/api/v1/timeline')).json(); return t.samples.at.length > 20 && t.samples.at.at(-1) - t.samples.at[0] > 3600; }, 'an hour of history', 60);
    await page.waitForTimeout(2500);
    await page.locator('input[type=range]').focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press('PageDown');
    await until(async () => (await text('#live-text')) === 'in the past', 'the past');
    const shown = await text('.past');
    check(/as it was at \w\w\w \d\d:\d\d:\d\d/.test(shown), shown);
    const nodes = await text('.figure dd.n');
    await page.waitForTimeout(1200);
    check(nodes === await text('.figure dd.n'), 'the past moves');
    await page.click('.past button');
    await until(async () => (await text('#live-text')) === 'live', 'now');
  }],
  ["a waiting pod's why opens with what every group had against it", async () => {
    const shape = await until(async () => { const s = await state(); return Object.values(s.pending || {}).find((p) => p.verdict === 'unhelped' || p.verdict === 'bought' || p.verdict === 'unserved'); }, 'a pod that waits', 90);
    await page.click('#pause');
    const s = await state();
    const now = Object.values(s.pending || {}).find((p) => p.verdict) || shape;
    const name = now.namespace + '/' + now.pods[0];
    const why = await (await page.request.get(url + '/api/v1/explain?pod=' + encodeURIComponent(name))).json();
    if (why.error) return; // it has found a node in this very moment
    await page.goto(url + '/#/why/pod/' + name.split('/').map(encodeURIComponent).join('/'));
    await until(async () => (await text('main h1')) === now.pods[0], 'the heading');
    const body = await text('main');
    for (const group of why.groups || []) check(body.includes(group.text), 'says nothing of ' + group.group + ': ' + group.text);
    if (why.verdict === 'bought') check(body.includes('on its way'), body);
    if (why.nearest) check(body.toLowerCase().includes(why.nearest.toLowerCase()), 'the nearest miss is missing');
    await sound('Why');
  }],
  ["a node's why says why it stays or when it goes", async () => {
    const s = await state();
    const name = Object.keys(s.nodes).find((n) => s.nodes[n].reason);
    check(name, 'no node has a reason');
    const why = await (await page.request.get(url + '/api/v1/explain?node=' + encodeURIComponent(name))).json();
    await page.goto(url + '/#/why/node/' + encodeURIComponent(name));
    await until(async () => (await text('main h1')) === name, 'the heading');
    const body = await text('main');
    check(why.now.goesAt ? /goes in/.test(body) : body.includes(why.stays.text), body);
    await sound('Why of a node');
  }],
  ['a decision shows what was compared', async () => {
    const list = (await (await page.request.get(url + '/api/v1/decisions?limit=1000')).json()).decisions;
    const bought = list.find((d) => d.kind === 'up');
    check(bought, 'nothing was bought');
    await page.goto(url + '/#/why/decision/' + bought.id);
    await until(async () => (await text('main h1')) === bought.title, 'the heading');
    check((await text('main')).includes('What was compared'), 'no table');
    check((await page.locator('tr.won').count()) === 1, 'no winner');
    await sound('Why of a decision');
    const other = list.find((d) => d.kind === 'down') || list.find((d) => d.kind === 'waits');
    if (other) {
      await page.goto(url + '/#/why/decision/' + other.id);
      await until(async () => (await text('main h1')) === other.title, 'the heading');
      await sound('Why of a decision, ' + other.kind);
    }
  }],
  ["a group's why has its size, whom it refuses and what was decided", async () => {
    const name = Object.keys((await state()).rows)[0];
    await page.goto(url + '/#/why/group/' + encodeURIComponent(name));
    await until(async () => (await text('main h1')) === name, 'the heading');
    await sound('Why of a group');
  }],
  ['a what-if is answered as a difference', async () => {
    await page.goto(url + '/#/what-if');
    await until(async () => page.locator('#count').count(), 'the form');
    await page.fill('#count', '50');
    await page.fill('#cpu', '1');
    await page.fill('#memory', '2Gi');
    await page.click('#ask');
    await until(async () => page.locator('#answer').count(), 'the answer', 40);
    const answer = await text('#answer');
    check(/ends up with \d+ nodes? more/.test(answer), answer);
    await sound('What if');
    await page.fill('#count', '0');
    await page.click('#ask');
    await until(async () => /question is empty/.test(await text('#result')), 'a refusal');
  }],
  ['health tells of passes and plug-ins', async () => {
    await page.goto(url + '/#/health');
    await until(async () => /half took at most/.test(await text('main')), 'passes');
    check((await text('main')).includes('NodeResourcesFit') || (await text('main')).includes('node_resources_fit') , 'no filter is named');
    await sound('Health');
  }],
  ['everything is reached by keyboard, and nothing is wider than a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const where of ['now', 'why', 'what-if', 'health']) {
      await page.goto(url + '/#/' + where);
      await page.waitForTimeout(500);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      check(wide <= 0, `${where} is ${wide} pixels too wide`);
    }
    await page.setViewportSize({ width: 1440, height: 1000 });
    await page.goto(url + '/#/now');
    await until(async () => (await page.locator('.tile').count()) > 1, 'tiles');
    await page.locator('.tile[tabindex="0"]').first().focus();
    await page.keyboard.press('Enter');
    await until(async () => page.url().includes('/why/node/'), 'the way to Why');
  }],
  ['nobody elsewhere reads it', async () => {
    const ask = (headers) => page.request.get(url + '/api/v1/state', { headers });
    check((await ask({ Host: 'evil.example' })).status() === 403, 'another name is answered');
    check((await ask({ Origin: 'http://evil.example' })).status() === 403, 'another origin is answered');
    check(!(await ask({})).headers()['access-control-allow-origin'], 'it is open to others');
  }],
  ['the browser has complained of nothing', async () => check(complaints.length === 0, complaints.slice(0, 5).join('; '))],
]);
await browser.close();
await server.stop();
