/// The operators' live page: one document, nothing loaded from elsewhere.
enum LivePage {
    /// Its own script and style, and `/status.json`, are all that it may use.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    static let html = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <link rel="icon" href="data:,">
        <title>receiptd</title>
        <style>\(style)</style>
        <header><h1>receiptd <small id="version"></small></h1><p id="state" class="state" role="status">…</p></header>
        <noscript><p>This page needs JavaScript; <a href="/metrics">/metrics</a> and <a href="/readyz">/readyz</a> do not.</p></noscript>
        <ul id="problems" class="problems"></ul>
        <section id="tiles" class="tiles" aria-label="Now"></section>
        <section class="tables">
        <div><h2>Outcomes</h2><table><thead><tr><th>Type<th>Reason<th class="n">per s<th class="n">Total</thead><tbody id="outcomes"></tbody></table></div>
        <div><h2>Apple</h2><table><thead><tr><th>Endpoint<th>Environment<th>Result<th class="n">per s<th class="n">Total</thead><tbody id="apple"></tbody></table></div>
        </section>
        <footer>Totals since this process started; rates over the last 10 s. Parked, held and outbox are the fleet's.
        <a href="/metrics">/metrics</a> <a href="/readyz">/readyz</a> <a href="/livez">/livez</a></footer>
        <script>\(script)</script>
        </html>

        """

    private static let style = """

        :root { color-scheme: light dark; --text: #1b1f24; --soft: #5c6570; --line: #d8dde3; --tile: #f5f7f9; --page: #fff;
          --good: #11713b; --bad: #b3261e; --warn: #8a5a00; }
        @media (prefers-color-scheme: dark) { :root { --text: #e7eaee; --soft: #9aa4af; --line: #333a42; --tile: #1d2228;
          --page: #14171b; --good: #57c98a; --bad: #ff8a80; --warn: #f0b952; } }
        body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--page); color: var(--text);
          font: 15px/1.45 system-ui, sans-serif; }
        header { display: flex; align-items: baseline; justify-content: space-between; gap: 1rem; flex-wrap: wrap; }
        h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
        small, footer, th, .tile span { color: var(--soft); font-weight: 400; }
        .state { margin: 0; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
        .problems { margin: .75rem 0 0; padding-left: 1.2rem; color: var(--bad); } .problems:empty { display: none; }
        .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: .75rem; margin-top: 1.25rem; }
        .tile { background: var(--tile); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
        .tile b { display: block; font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
        .tile span { display: block; font-size: .85rem; overflow-wrap: anywhere; }
        .tables { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 2rem; }
        .tables > div { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .5rem .3rem 0;
          border-bottom: 1px solid var(--line); } .n { text-align: right; font-variant-numeric: tabular-nums; }
        footer { margin-top: 1.5rem; font-size: .85rem; } a { color: inherit; }

        """

    private static let script = """

        'use strict';
        const $ = id => document.getElementById(id);
        const reports = [];                       // the last 10 s of reports, oldest first
        const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
        const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
        const seconds = s => s === null || !isFinite(s) ? '–' : s < 1 ? short.format(s * 1000) + ' ms' : short.format(s) + ' s';
        const make = (tag, text, kind) => { const e = document.createElement(tag); e.textContent = text;
          if (kind) e.className = kind; return e; };
        const row = (...cells) => { const tr = document.createElement('tr');
          for (const [text, kind] of cells) tr.append(make('td', text, kind)); return tr; };
        const tile = (name, value, note, kind) => { const e = make('div', '', 'tile');
          e.append(make('span', name), make('b', value, kind), make('span', note || '')); return e; };

        function quantile(q, buckets) {           // as Prometheus does: linear within the bucket
          const total = buckets.reduce((sum, b) => sum + b.count, 0);
          let seen = 0, below = 0;
          if (!total) return null;
          for (const b of buckets) {
            if (seen + b.count >= q * total) return b.up_to === undefined || b.up_to === null ? below
              : below + (b.up_to - below) * (q * total - seen) / b.count;
            seen += b.count; below = b.up_to;
          }
          return below;
        }

        function show(now) {
          if (reports.length && now.submissions < reports[0].submissions) reports.length = 0;   // restarted
          reports.push(now);
          while (reports.length > 6) reports.shift();
          const old = reports[0], span = now.clock_seconds - old.clock_seconds;
          const rate = (a, b) => span > 0 ? short.format((a - b) / span) : '–';
          const key = r => [r.type, r.reason, r.endpoint, r.environment, r.result].join('|');
          const before = rows => { const m = new Map(rows.map(r => [key(r), r.count])); return r => m.get(key(r)) || 0; };
          $('version').textContent = now.version;
          $('state').textContent = !now.live ? 'Stuck' : !now.ready ? 'Not ready' : now.notes.length ? 'Ready, with failures'
            : now.paused ? 'Ready, paused' : 'Ready';
          $('state').className = 'state ' + (!now.live || !now.ready ? 'bad' : now.paused || now.notes.length ? 'warn' : 'good');
          const problems = now.problems.concat(now.notes,
            now.misconfigured.map(id => id + ': waits for its settings to be mended'),
            now.apple.outages,
            now.apple.is_down ? ['Apple as a whole is down: submissions wait, Kafka keeps the backlog']
              : now.apple.open_circuits.map(id => id + ': requests held back after failures'));
          $('problems').replaceChildren(...problems.map(text => make('li', text)));
          const a = now.apple, b = old.apple, requests = a.requests - b.requests, errors = a.errors - b.errors;
          const buckets = a.duration_buckets.map((x, i) => ({ up_to: x.up_to, count: x.count - b.duration_buckets[i].count }));
          const share = requests ? 100 * errors / requests : null;
          $('tiles').replaceChildren(
            tile('Submissions per second', rate(now.submissions, old.submissions), whole.format(now.submissions) + ' in all'),
            tile('In flight', whole.format(now.in_flight), short.format(now.in_flight_bytes / 1048576) + ' MiB'),
            tile('Consumer lag', whole.format(now.lag.total), now.lag.longest > 0
              ? whole.format(now.lag.longest) + ' in ' + now.lag.longest_partition : now.lag.partitions + ' partitions'),
            tile('Apple latency', seconds(quantile(.5, buckets)), 'p95 ' + seconds(quantile(.95, buckets))),
            tile('Apple errors', share === null ? '–' : short.format(share) + ' %', rate(a.requests, b.requests)
              + ' requests/s, limit ' + whole.format(a.concurrency_limit), share > 5 ? 'bad' : ''),
            tile('Parked', whole.format(now.parked), 'wait for Apple', now.parked > 0 ? 'warn' : ''),
            tile('Held', whole.format(now.held), 'wait for an operator', now.held > 0 ? 'warn' : ''),
            tile('Outbox', whole.format(now.outbox_pending), 'decided, not yet published'));
          const was = before(old.outcomes.concat(old.dead_letters)), wasApple = before(b.results);
          $('outcomes').replaceChildren(...now.outcomes.concat(now.dead_letters.filter(r => r.count)).map(r =>
            row([r.type], [r.reason], [rate(r.count, was(r)), 'n'], [whole.format(r.count), 'n'])));
          $('apple').replaceChildren(...a.results.map(r => row([r.endpoint], [r.environment], [r.result],
            [rate(r.count, wasApple(r)), 'n'], [whole.format(r.count), 'n'])));
        }

        async function refresh() {
          try {
            const answer = await fetch('/status.json', { cache: 'no-store', signal: AbortSignal.timeout(5000) });
            if (!answer.ok) throw new Error('HTTP ' + answer.status);
            show(await answer.json());
          } catch (error) {
            $('state').textContent = 'No answer: ' + error.message;
            $('state').className = 'state bad';
          }
          setTimeout(refresh, 2000);
        }
        refresh();

        """
}
