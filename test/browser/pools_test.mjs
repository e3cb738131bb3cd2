// Node pools on a model cluster, and queues and gangs as a scheduler reports them, in a real browser: pools_test.mjs COPPICE WEB_CROWD
import { browse, check, each, start, until } from './lib.mjs';
import { readFileSync } from 'node:fs';

const browser = await browse();
const axe = readFileSync(process.env.BROWSER_DIR + '/node_modules/axe-core/axe.min.js', 'utf8');
const complaints = [];

async function open(command, args) {
  const server = start(command, args);
  const url = await server.url;
  const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url + '/');
  const get = async (path) => (await page.request.get(url + '/api/v1/' + path)).json();
  const text = (selector) => page.locator(selector).first().innerText();
  // What axe-core calls serious or critical, in light and dark; and whether it fits a phone.
  const sound = async (where) => {
    for (const theme of ['light', 'dark']) {
      await page.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
      await page.evaluate(axe);
      const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      const found = result.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | '));
      check(found.length === 0, `${where}, ${theme}: ${found.join('; ')}`);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    await page.waitForTimeout(200);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    await page.setViewportSize({ width: 1440, height: 1000 });
    check(wide <= 0, `${where} is ${wide} pixels wider than a phone`);
  };
  const why = async (kind, name) => {
    await page.goto(url + '/#/why/' + [kind, ...name.split('/')].map(encodeURIComponent).join('/'));
    await until(async () => (await text('main h1')) === name, 'the heading ' + name);
    return text('main');
  };
  return { server, url, page, get, text, sound, why };
}

const pools = await open(process.argv[2], ['run', '--node-pools', '--seed', '7', '--speed', '600', '--for', '72h', '--web-address', '127.0.0.1:0']);
await each([
  ['pools are rows of nodes, and machines that come are tiles', async () => {
    await until(async () => (await pools.page.locator('.tile').count()) >= 3, 'tiles', 40);
    const rows = (await pools.get('state')).rows;
    check(rows.spot && rows.spot.kind === 'pool' && rows['on-demand'], JSON.stringify(rows).slice(0, 200));
    const body = await pools.text('main');
    check(body.includes('spot') && body.includes('on-demand'), body.slice(0, 300));
    await pools.sound('Now with pools');
  }],
  ['a decision of a pool says for whom and from which types', async () => {
    const bought = await until(async () => (await pools.get('decisions?limit=1000')).decisions.find((d) => d.kind === 'up'), 'a purchase', 60);
    check(/ an hour/.test(bought.why) && /^for /.test(bought.why), bought.why);
    await pools.page.goto(pools.url + '/#/why/decision/' + bought.id);
    await until(async () => (await pools.text('main h1')) === bought.title, 'the heading');
    check((await pools.text('main')).includes('Machines asked for'), 'no machines');
    await pools.sound('Why of a purchase of a pool');
  }],
  ['a node that is taken away goes for a reason of disruption, and not for being unneeded', async () => {
    const gone = await until(async () => (await pools.get('decisions?limit=1000')).decisions.find((d) => d.kind === 'down'), 'a disruption', 90);
    check(/^(Empty|Underutilized|Drifted|Expired|Unhealthy)/.test(gone.why), gone.why);
    check(!/unneeded/.test(gone.why), gone.why);
    await pools.page.goto(pools.url + '/#/why/decision/' + gone.id);
    await until(async () => (await pools.text('main h1')) === gone.title, 'the heading');
    check((await pools.text('main')).includes('Cost before'), 'no cost');
    await pools.sound('Why of a disruption');
  }],
  ['a pool, a claim and a node of a pool are explained', async () => {
    const pool = await pools.why('pool', 'spot');
    const lines = (await pools.get('explain?pool=spot')).lines;
    check(lines.length > 0 && pool.includes(lines[0]), pool.slice(0, 300));
    await pools.sound('Why of a pool');
    await pools.page.click('#pause');
    const nodes = (await pools.get('state')).nodes;
    const [name, node] = Object.entries(nodes).find(([, n]) => n.claim && n.state === 'ready');
    const claim = await pools.why('claim', node.claim);
    check(claim.includes(name) && /Expires/.test(claim), claim);
    // The search finds what is no node, group or pod, too.
    for (const [text, where] of [[node.claim, 'claim/' + node.claim], ['spot', 'pool/spot'], [name, 'node/' + name]]) {
      await pools.page.goto(pools.url + '/#/why');
      await pools.page.fill('#subject', text);
      await pools.page.keyboard.press('Enter');
      await until(async () => pools.page.url().endsWith('/why/' + where), text + ' is found as ' + where + ', not ' + pools.page.url());
    }
    await pools.sound('Why of a claim');
    check(/Expires\n.*, in \d+ (days|h)/.test(await pools.why('node', name)), await pools.text('main'));
    await pools.sound('Why of a node of a pool');
    await pools.page.click('#pause');
  }],
  ['a what-if of pools is a difference in machines and cost', async () => {
    await pools.page.click('#pause');
    const state = await pools.get('state');
    const play = async (fill) => {
      await pools.page.goto(pools.url + '/#/now');
      await pools.page.goto(pools.url + '/#/what-if');
      await until(async () => pools.page.locator('#count').count(), 'the form');
      await pools.page.fill('#count', '0');
      await fill();
      const posted = pools.page.waitForResponse((r) => r.url().endsWith('/whatif') && r.request().method() === 'POST');
      await pools.page.click('#ask');
      const { id } = await (await posted).json();
      await until(async () => pools.page.locator('#answer').count(), 'the answer', 40);
      return { answer: (await pools.get('whatif?id=' + id)).answer, body: await pools.text('#result') };
    };
    const many = async () => { await pools.page.fill('#count', '100'); await pools.page.fill('#cpu', '1'); await pools.page.fill('#memory', '1Gi'); };
    const added = await play(many);
    const pool = (name, of) => of.answer.groups.find((g) => g.group === name);
    check(added.answer.groups.every((g) => g.kind === 'pool') && pool('spot', added) && pool('on-demand', added), JSON.stringify(added.answer.groups));
    check(added.answer.added === 100 && added.answer.cost.with > added.answer.cost.without, JSON.stringify(added.answer.cost));
    check(/ends up with \d+ nodes? more/.test(added.body) && added.body.includes('spot'), added.body.slice(0, 300));
    await pools.sound('What if with pools');
    // With a limit that is far away everything is bought as spot.
    const raised = await play(async () => {
      await many();
      await pools.page.selectOption('#grow', 'pool spot cpu');
      check(/^\d+$/.test(await pools.page.inputValue('#max')), 'twice the limit is not proposed: ' + await pools.page.inputValue('#max'));
      await pools.page.fill('#max', '5000');
    });
    check(pool('spot', raised).with > pool('spot', added).with, JSON.stringify([raised.answer.groups, added.answer.groups]));
    const [victim] = Object.entries(state.nodes).find(([, n]) => n.claim && n.state === 'ready' && n.pods > 0);
    const removed = await play(() => pools.page.selectOption('#remove', victim));
    check(removed.answer.removals[0].node === victim && removed.body.includes(victim), JSON.stringify(removed.answer.removals));
    const type = state.nodes[victim].type;
    const without = await play(async () => { await many(); await pools.page.selectOption('#forbid', type); });
    check(without.answer.groups.length === 2, JSON.stringify(without.answer));
    const refused = await (await pools.page.request.post(pools.url + '/api/v1/whatif', { data: { limits: { nobody: { cpu: '1' } } } })).json();
    const failed = await until(async () => { const a = await pools.get('whatif?id=' + refused.id); return a.state !== 'running' && a; }, 'the refusal');
    check(failed.state === 'failed' && /no node pool nobody/.test(failed.error), JSON.stringify(failed));
    await pools.page.click('#pause');
  }],
  ['health has the engine of pools and every kind of plug-in', async () => {
    await pools.page.goto(pools.url + '/#/health');
    await until(async () => /node pools/.test(await pools.text('main')) && /disruption/.test(await pools.text('main')), 'the engine and its stages');
    const health = await pools.get('health');
    for (const kind of ['clouds', 'nodeGroups', 'nodeClaims', 'filters', 'expanders', 'processors', 'batch']) check(health.plugins[kind].length > 0, 'no plug-ins: ' + kind);
    await pools.sound('Health with pools');
  }],
]);
await pools.page.close();
await pools.server.stop();

const gangs = await open(process.argv[3], ['--gangs']);
await each([
  ['queues have shares, and gangs that wait are listed with their cost', async () => {
    await until(async () => /Queue research/.test(await gangs.text('main')), 'the queue');
    const body = await gangs.text('main');
    check(/75% of its share/.test(body), body.slice(0, 800));
    check(/ml\/train/.test(body) && /7\.50/.test(body), body.slice(0, 800));
    await gangs.sound('Now with queues');
  }],
  ['a gang says what it lacks and what that costs', async () => {
    const bought = await gangs.why('gang', 'ml/train');
    check(/on their way/.test(bought) && /7\.50 per hour/.test(bought) && /gpu/.test(bought), bought);
    check(/What it lacks/.test(bought) && /worker/.test(bought) && /are not created yet/.test(bought), 'says nothing of what it lacks: ' + bought);
    check(/Held for it\s+node-3/.test(bought) && /Held until\s+\w\w\w \d\d:/.test(bought), 'says nothing of what is held: ' + bought);
    await gangs.sound('Why of a gang that is bought for');
    const refused = await gangs.why('gang', 'ml/big');
    check(/no seller has all/.test(refused) && /its maximum is 20/.test(refused), refused);
    await gangs.sound('Why of a gang that nobody helps');
  }],
  ['a gang is found by its name', async () => {
    await gangs.page.goto(gangs.url + '/#/why');
    await gangs.page.fill('#subject', 'ml/train');
    await gangs.page.keyboard.press('Enter');
    await until(async () => gangs.page.url().endsWith('/why/gang/ml/train'), 'the gang');
  }],
  ['decisions for gangs, evictions and of pools that refuse can be opened, and are marks on the timeline', async () => {
    const open = async (kind, title) => {
      const one = await until(async () => (await gangs.get('decisions?limit=1000')).decisions.find((d) => d.kind === kind && title.test(d.title)), `a decision: ${kind} ${title}`, 40);
      await gangs.page.goto(gangs.url + '/#/why/decision/' + one.id);
      await until(async () => (await gangs.text('main h1')) === one.title, 'the heading ' + one.title);
      return gangs.text('main');
    };
    const bought = await open('up', /^gang ml\/train/);
    check(/What it lacks/.test(bought) && /What it would take/.test(bought) && /7\.50 per hour/.test(bought), bought);
    await gangs.sound('Why of a purchase for a gang');
    const refused = await open('waits', /^gang ml\/big/);
    check(/its maximum is 20/.test(refused), refused);
    const evicted = await open('gang', /2 pods evicted/);
    check(/ml\/small-1/.test(evicted) && /ml\/small-2/.test(evicted) && /preempted by ml\/train/.test(evicted), evicted);
    await gangs.sound('Why of an eviction');
    const waits = await open('waits', /huge-1/);
    check(/What every pool had against them/.test(waits) && /at most 512Gi/.test(waits) && /flip it/.test(waits), waits);
    check(/asks for 2 TiB, 512 GiB free/.test(waits), 'does not say by how much: ' + waits);
    check(/Would take them if/.test(waits) && /\tit asked for no more than 512Gi of memory/.test(waits), 'does not say what would have to be otherwise: ' + waits);
    await gangs.sound('Why of pods that no pool takes');
    await gangs.page.goto(gangs.url + '/#/now');
    await until(async () => (await gangs.page.locator('.chart .mark.gang').count()) > 0 && (await gangs.page.locator('.chart .mark.waits').count()) > 0, 'the marks');
  }],
  ['the breaker of an extender is on Health', async () => {
    await gangs.page.goto(gangs.url + '/#/health');
    await until(async () => /quota\.example/.test(await gangs.text('main')), 'the extender');
    check(/open/.test(await gangs.text('main')) && /no answer in 1 s/.test(await gangs.text('main')), await gangs.text('main'));
    check(/allocate/.test(await gangs.text('main')), 'no stages of sessions');
    await gangs.sound('Health with an extender');
  }],
  ['the browser has complained of nothing', async () => check(complaints.length === 0, complaints.slice(0, 5).join('; '))],
]);
await gangs.page.close();
await gangs.server.stop();
await browser.close();
