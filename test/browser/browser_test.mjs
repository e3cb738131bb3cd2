// The dashboard of a model cluster in a real browser: browser_test.mjs COPPICE
import { browse, check, each, start, until } from './lib.mjs';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const server = start(process.argv[2], ['run', '--seed', '7', '--speed', '240', '--for', '72h', '--web-address', '127.0.0.1:0']);
const url = await server.url;
const browser = await browse();
const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
const complaints = [];
page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
page.on('pageerror', (error) => complaints.push(String(error)));
page.on('requestfailed', (request) => { if (!request.url().includes('/events') && !/ERR_ABORTED/.test(request.failure().errorText)) complaints.push(request.url() + ' ' + request.failure().errorText); });
page.on('request', (request) => { if (new URL(request.url()).hostname !== '127.0.0.1') complaints.push('asks elsewhere: ' + request.url()); });
const text = (selector) => page.locator(selector).first().innerText();
const state = async () => (await page.request.get(url + '/api/v1/state')).json();
const axe = readFileSync(process.env.BROWSER_DIR + '/node_modules/axe-core/axe.min.js', 'utf8');

// What axe-core calls serious or critical.
async function faults(on) {
  await on.evaluate(axe); // by the debugger: the page's own policy lets nothing in
  const result = await on.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return result.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | '));
}
async function sound(where, on = page) {
  for (const theme of ['light', 'dark']) {
    await on.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
    const found = await faults(on);
    check(found.length === 0, `${where}, ${theme}: ${found.join('; ')}`);
  }
}

const two = (n) => String(n).padStart(2, '0');
const clockOf = (at) => { const d = new Date(at * 1000); return ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][d.getUTCDay()] + ' ' + [d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()].map(two).join(':'); };

let wentTo = '';
page.on('request', (request) => { if (request.url().includes('/state?at=')) wentTo = request.url(); });
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
    // The figures and the tiles are those of then, by what the API says of that moment.
    await page.waitForTimeout(500); // the last of the keys
    check(/state\?at=\d+$/.test(wentTo), 'nothing was asked for');
    const then = await (await page.request.get(wentTo)).json();
    check((await text('.past')).includes(clockOf(then.at)), `${await text('.past')}: it was ${clockOf(then.at)}`);
    const compare = async () => {
      check(JSON.stringify(await (await page.request.get(wentTo)).json()) === JSON.stringify(then), 'what is kept of the past changes');
      const figures = await page.locator('.figure dd.n').allInnerTexts();
      check(Number(figures[0]) === then.total.nodes && Number(figures[1]) === then.total.running && Number(figures[2]) === then.total.pending, `shows ${figures.slice(0, 3)}, then were ${then.total.nodes} nodes, ${then.total.running} and ${then.total.pending} pods`);
      check(JSON.stringify((await page.locator('.tile').evaluateAll((tiles) => tiles.map((tile) => tile.dataset.name))).sort()) === JSON.stringify(Object.keys(then.nodes).sort()), 'other tiles than the nodes of then');
    };
    await compare();
    await page.waitForTimeout(1200);
    await compare();
    check((await page.locator('.feed li').count()) > 0, 'nothing was decided before then');
    await page.click('.past button');
    await until(async () => (await text('#live-text')) === 'live', 'now');
  }],
  ['who comes back to now stays there, whatever was on its way', async () => {
    // A slow answer, and a slider that was let go of a moment ago.
    await page.route('**/api/v1/state?at=*', async (route) => { await new Promise((done) => setTimeout(done, 700)); await route.continue(); });
    const slide = (then) => page.evaluate((back) => {
      const range = document.querySelector('input[type=range]');
      range.value = 500;
      range.dispatchEvent(new Event('input'));
      if (back) document.querySelector('.past button').click();
    }, then);
    await slide(true);
    await page.waitForTimeout(300);
    check((await text('#live-text')) !== 'in the past', 'the slider was still on its way');
    await slide(false);
    await page.waitForTimeout(200);
    await page.evaluate(() => document.querySelector('.past button').click());
    await page.waitForTimeout(1200);
    check((await text('#live-text')) !== 'in the past', 'thrown back into the past');
    await page.unroute('**/api/v1/state?at=*');
  }],
  ['of many who wait the most are shown, each as it is, and the rest is counted', async () => {
    const seen = await page.evaluate(async () => {
      const { Waiting } = await import('/assets/now.js');
      const place = document.createElement('ul');
      const waiting = new Waiting(place, { now: () => 0 });
      const shapes = (count) => Object.fromEntries([...Array(100).keys()].map((i) => ['s' + String(i).padStart(3, '0'), { namespace: 'shop', owner: 'o' + i, count: count(i), cpuMillis: 100, memoryBytes: 1, pods: ['p' + i] }]));
      const read = () => [...place.children].map((item) => item.textContent);
      waiting.show(shapes((i) => 100 - i));
      const first = read();
      waiting.show(shapes((i) => (i < 50 ? 1 : 200 + i)));
      const second = read();
      waiting.show({ a: { namespace: 'shop', owner: 'one', count: 2, cpuMillis: 1, memoryBytes: 1, pods: ['p'] } });
      return { first, second, third: read(), hidden: place.lastElementChild.hidden };
    });
    check(seen.first.length === 61 && /^100 pods of o0/.test(seen.first[0].trim()), seen.first.slice(0, 2).join('; '));
    check(seen.first[60] === 'and 40 more, 820 pods in all', seen.first[60]);
    check(seen.second.length === 61 && /^299 pods of o99/.test(seen.second[0].trim()), seen.second.slice(0, 2).join('; '));
    check(seen.second.filter((line) => /^1 pod of /.test(line.trim())).length === 10, 'stale lines: ' + seen.second.join('; '));
    check(seen.third.length === 2 && seen.third[1] === '' && seen.hidden, seen.third.join('; '));
  }],
  ['an address that nobody can decode is a page', async () => {
    for (const [hash, shows] of [['#/why/pod/%', 'h1'], ['#/why/node/%zz', 'h1'], ['#/constructor', '.figure']]) {
      await page.goto(url + '/' + hash);
      await until(async () => page.locator('main ' + shows).count(), hash);
    }
    // That there is no such pod and no such node are answers, which Chromium writes down.
    await until(async () => complaints.length >= 2, 'the answers');
    check(complaints.splice(0).every((text) => /40[04]/.test(text)), 'complaints: ' + complaints.join('; '));
    await page.goto(url + '/#/now');
    await until(async () => page.locator('.chart .mark').count(), 'the timeline');
  }],
  ['the timeline has a line for nodes, pods, who waits and cost, and marks', async () => {
    const labels = await page.locator('.chart svg text').allTextContents();
    for (const lane of ['nodes', 'pods', 'waiting', 'cost/h', 'decided']) check(labels.includes(lane), 'no lane ' + lane + ': ' + labels.join(' '));
    const samples = (await (await page.request.get(url + '/api/v1/timeline?points=400')).json()).samples;
    check(samples.running.at(-1) > 0, 'no pod runs');
    check((await page.locator('.chart path.pods').getAttribute('d')).length > 50, 'the line of pods is empty');
    check((await page.locator('.chart .mark.up').count()) > 0 && (await page.locator('.chart .mark.down').count()) > 0, 'marks are missing');
    const box = await page.locator('.chart').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 60);
    await until(async () => /nodes, \d+ pods, \d+ waiting/.test(await page.locator('.chart .halo').textContent()), 'the numbers of a moment');
  }],
  ['a node of the past that is gone says so', async () => {
    const gone = await until(async () => {
      const { samples } = await (await page.request.get(url + '/api/v1/timeline?points=300')).json();
      const now = (await state()).nodes;
      // There at two moments, and so between them, which is where the pointer goes.
      let before = {};
      for (const [i, at] of samples.at.entries()) {
        const then = (await (await page.request.get(url + '/api/v1/state?at=' + at)).json()).nodes;
        const name = Object.keys(then).find((n) => !now[n] && before[n] && then[n].state === 'ready' && !n.includes('/'));
        if (name) return { name, at: (samples.at[i - 1] + at) / 2 };
        before = then;
      }
      return null;
    }, 'a node that is gone', 90);
    await page.click('#pause'); // the line stands still under the pointer
    await until(async () => (await text('#pause')) === 'Go on', 'a pause');
    await page.evaluate((hours) => sessionStorage.setItem('coppice-hours', hours), 24);
    await page.goto(url + '/#/why');
    await page.goto(url + '/#/now');
    await until(async () => page.locator('.chart .mark').count(), 'the timeline');
    await page.waitForTimeout(2500);
    const box = await page.locator('.chart').boundingBox();
    const line = await (await page.request.get(url + '/api/v1/timeline?points=400')).json();
    const from = Math.max(line.from, Math.min(line.keptSince, line.to - 600));
    await page.mouse.click(box.x + 64 + ((gone.at - from) / (line.to - from)) * (box.width - 70), box.y + 40);
    await until(async () => (await text('#live-text')) === 'in the past', 'the past');
    const tile = page.locator(`.tile[data-name="${gone.name}"]`);
    await until(async () => tile.count(), 'the tile of ' + gone.name);
    await tile.click();
    await until(async () => (await page.locator('#from-past').count()) === 1, 'a word about the past');
    const body = await text('main');
    check(/Why is about now/.test(body) && body.includes('Then ' + gone.name + ' was ') && /[Tt]here is no node/.test(body), body.slice(0, 600));
    await sound('Why, coming from the past');
    // That there is no such node is an answer of 404, which Chromium writes down.
    check(complaints.length === 1 && /404/.test(complaints.pop()), 'complaints: ' + complaints.join('; '));
    await page.click('#from-past button');
    await until(async () => (await text('#live-text')) !== 'in the past', 'now');
    await page.goto(url + '/#/now'); // and from here on the model stands still
  }],
  ["a waiting pod's why opens with what every group had against it", async () => {
    // On a cluster that may not have as many cores as its load wants: no group takes more, and each would with a higher limit.
    const tight = start(process.argv[2], ['run', '--seed', '7', '--speed', '1000', '--for', '720h', '--cores-total', '0:20', '--web-address', '127.0.0.1:0']);
    const there = await tight.url;
    const get = async (path) => (await page.request.get(there + '/api/v1/' + path)).json();
    const stuck = async () => Object.values((await get('state')).pending || {}).find((p) => p.verdict === 'unhelped' && p.nearest);
    await until(stuck, 'a pod that nothing helps', 60);
    await page.goto(there + '/');
    await page.click('#pause');
    await until(async () => (await text('#pause')) === 'Go on', 'a pause');
    await page.waitForTimeout(500);
    const now = await stuck();
    const name = now.namespace + '/' + now.pods[0];
    const why = await get('explain?pod=' + encodeURIComponent(name));
    check(!why.error, why.error);
    check(why.groups.length > 0 && why.groups.length === Object.keys((await get('state')).rows).length, 'not every group is told of: ' + JSON.stringify(why.groups));
    check(why.nearest && why.groups.some((group) => group.wouldTakeIf), 'no nearest miss');
    await until(async () => (await page.locator('.chart .mark.waits').count()) > 0, 'a mark for who waits');
    await page.locator('#waiting-title').scrollIntoViewIfNeeded();
    check((await text('main')).includes(why.nearest), 'Now does not say what would help');
    await page.goto(there + '/#/why/pod/' + name.split('/').map(encodeURIComponent).join('/'));
    await until(async () => (await text('main h1')) === now.pods[0], 'the heading');
    const body = await text('main');
    for (const group of why.groups) check(body.includes(group.group) && body.includes(group.text), 'says nothing of ' + group.group + ': ' + group.text);
    check(body.includes('The one change that would flip it'), 'no change is proposed');
    check(body.toLowerCase().includes(why.nearest.toLowerCase()), 'the nearest miss is missing');
    await sound('Why of a pod');
    const waits = (await get('decisions?limit=1000')).decisions.find((d) => d.kind === 'waits');
    await page.goto(there + '/#/why/decision/' + waits.id);
    await until(async () => (await text('main h1')) === waits.title, 'the heading of the decision');
    check((await text('main')).includes('What every group had against them'), 'no table');
    await sound('Why of pods that nothing helps');
    await page.goto(url + '/#/why');
    await tight.stop();
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
  ['a maximum that is raised, a node that is removed and a type that is forbidden are answered, too', async () => {
    const { rows, nodes } = await state();
    // What was asked, what the page shows of it, and what the server answered.
    const play = async (fill) => {
      await page.goto(url + '/#/now');
      await page.goto(url + '/#/what-if');
      await until(async () => page.locator('#count').count(), 'the form');
      await page.fill('#count', '0');
      await fill();
      const posted = page.waitForResponse((r) => r.url().endsWith('/whatif') && r.request().method() === 'POST');
      await page.click('#ask');
      const { id } = await (await posted).json();
      await until(async () => page.locator('#answer').count(), 'the answer', 40);
      const { answer } = await (await page.request.get(url + '/api/v1/whatif?id=' + id)).json();
      const body = await text('#result');
      for (const group of answer.groups) check(body.includes(group.group), 'says nothing of ' + group.group);
      return { answer, body };
    };
    // So many pods that every maximum is reached; with one of them raised, more nodes come.
    const many = async () => { await page.fill('#count', '3000'); await page.fill('#cpu', '1'); await page.fill('#memory', '1Gi'); };
    const full = await play(many);
    const capped = full.answer.groups.find((g) => g.with === g.max && g.with > g.without);
    check(capped, 'no group is at its maximum: ' + JSON.stringify(full.answer.groups));
    check(/nothing helps/i.test(full.body), full.body.slice(0, 400));
    const raised = await play(async () => {
      await many();
      await page.selectOption('#grow', capped.group);
      check(Number(await page.inputValue('#max')) === 2 * rows[capped.group].max, 'twice the maximum is not proposed');
    });
    const more = raised.answer.groups.find((g) => g.group === capped.group);
    check(more.max === 2 * capped.max && more.with > capped.with, JSON.stringify([capped, more]));
    check(/\d+ nodes more/.test(raised.body), raised.body.slice(0, 300));
    const victim = Object.keys(nodes).find((n) => nodes[n].state === 'ready' && nodes[n].pods > 0);
    const removed = await play(() => page.selectOption('#remove', victim));
    check(removed.answer.removals[0].node === victim, JSON.stringify(removed.answer.removals));
    check(removed.body.includes(victim + (removed.answer.removals[0].drains ? ' drains' : ' does not drain')), removed.body.slice(0, 600));
    for (const pod of removed.answer.removals[0].pods) check(removed.body.includes(pod.pod), 'says nothing of ' + pod.pod);
    const type = rows[capped.group].type;
    const without = await play(async () => { await many(); await page.selectOption('#forbid', type); });
    for (const group of without.answer.groups) {
      const row = rows[group.group];
      if (row.type === type) check(group.with <= Math.max(group.now, group.without), 'buys more of a type that is forbidden: ' + JSON.stringify(group));
    }
    check(without.answer.groups.reduce((n, g) => n + g.with, 0) < full.answer.groups.reduce((n, g) => n + g.with, 0), 'forbidding a type changes nothing');
    await sound('What if of a removal');
  }],
  ['an answer that is no JSON is said to be none', async () => {
    await page.route('**/api/v1/explain*', (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"group":' }));
    await page.goto(url + '/#/why/group/broken');
    await until(async () => /answer to explain cannot be read/.test(await text('main')), 'a word about it');
    await page.unroute('**/api/v1/explain*');
  }],
  ['a replica that stands by says who leads', async () => {
    await page.route('**/api/v1/control', (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"mode":"cluster","leads":false,"leader":"coppice-0"}' }));
    await page.goto(url + '/?again#/now');
    await until(async () => page.locator('#banner').isVisible(), 'the banner');
    check(/stands by: coppice-0 leads/.test(await text('#banner')), await text('#banner'));
    await sound('a replica that stands by');
    await page.unroute('**/api/v1/control');
    await page.goto(url + '/#/now');
    await until(async () => page.locator('#banner').isHidden(), 'no banner');
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
  ['who has no token is asked for it, in a form that anybody can use', async () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'token-')), 'token');
    writeFileSync(file, 'a-token-of-sixteen-and-more\n');
    const closed = start(process.argv[2], ['run', '--seed', '7', '--speed', '240', '--for', '72h', '--web-address', '127.0.0.1:0', '--web-token-file', file]);
    const there = await closed.url;
    const context = await browser.newContext({ viewport: { width: 1440, height: 1000 } });
    const door = await context.newPage();
    const faulty = [];
    door.on('pageerror', (error) => faulty.push(String(error)));
    await door.goto(there + '/');
    await until(async () => (await door.locator('#token').count()) === 1, 'the form');
    check((await door.locator('main h1').innerText()) === 'Who is there?', await door.locator('main').innerText());
    check(await door.evaluate(() => document.activeElement.id === 'token'), 'the field is not where one types');
    check((await door.locator('#token').getAttribute('type')) === 'password', 'the token can be read over a shoulder');
    check((await door.locator('label[for=token]').count()) === 1, 'the field has no name');
    await sound('the door', door);
    await door.setViewportSize({ width: 390, height: 844 });
    check((await door.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)) <= 0, 'wider than a phone');
    await door.setViewportSize({ width: 1440, height: 1000 });
    check((await context.request.get(there + '/api/v1/state')).status() === 401, 'the state is told to anybody');
    await door.keyboard.type('not-the-token-at-all');
    await door.keyboard.press('Enter');
    await until(async () => (await door.locator('[role=alert]').innerText()) !== '', 'a no');
    await sound('the door after a wrong token', door);
    check(await door.evaluate(() => !location.search && !document.cookie), 'the token is in the address, or a script can read the cookie');
    await door.waitForTimeout(1500); // wrong ones are answered slowly
    await door.fill('#token', 'a-token-of-sixteen-and-more');
    await door.keyboard.press('Enter');
    await until(async () => door.locator('.tile').count(), 'the page behind the door');
    check((await context.request.get(there + '/api/v1/state')).ok(), 'the cookie does not count');
    check(faulty.length === 0, faulty.join('; '));
    await context.close();
    await closed.stop();
  }],
  ['a page that is hidden for long gives its stream back, and has everything when it is looked at again', async () => {
    await page.goto(url + '/#/now');
    // Who has left is noticed when something is told, so the model goes on.
    if ((await text('#pause')) === 'Go on') await page.click('#pause');
    await until(async () => (await (await page.request.get(url + '/api/v1/health')).json()).watchers === 1, 'one stream');
    const hide = (hidden) => page.evaluate((h) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => h });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
    await hide(true);
    await until(async () => (await (await page.request.get(url + '/api/v1/health')).json()).watchers === 0, 'no stream', 40);
    await hide(false);
    await until(async () => (await (await page.request.get(url + '/api/v1/health')).json()).watchers === 1, 'a stream again');
    await until(async () => ['live', 'paused'].includes(await text('#live-text')), 'the light');
    check((await page.locator('.feed li').count()) > 0, 'no decision is shown');
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
