/// The frame of the worker's page: one document that loads nothing from other servers.
enum PageShell {
    /// The policy that allows the page its own script and style, and requests to its own server.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    /// Returns the whole document.
    /// - Parameter main: the content, as HTML.
    static func html(version: String, main: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <noscript><meta http-equiv="refresh" content="10"></noscript>
        <link rel="icon" href="data:,">
        <title>receiptd</title>
        <style>\(PageStyle.css)</style>
        </head>
        <body>
        <header><h1>receiptd <small>\(HTMLText.escaped(version))</small></h1></header>
        <main>
        \(main)
        </main>
        <footer>Totals count from the start of this process. Rates cover about the last 10 s. Parked, held and
        outbox count the whole fleet.
        <a href="/metrics">/metrics</a> <a href="/readyz">/readyz</a> <a href="/livez">/livez</a>
        <a href="/status.json">/status.json</a></footer>
        <script>\(script)</script>
        </body>
        </html>

        """
    }

    /// The script that loads the page's content again every two seconds. It pauses while the page is hidden, and while
    /// text is selected.
    private static let script = """

        'use strict';
        async function refresh() {
          try {
            if (!document.hidden && getSelection().isCollapsed) {
              const answer = await fetch('/', { cache: 'no-store', signal: AbortSignal.timeout(5000) });
              if (!answer.ok) throw new Error('HTTP ' + answer.status);
              const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
              document.querySelector('main').replaceWith(page.querySelector('main'));
            }
          } catch (error) {
            const state = document.getElementById('state');
            state.textContent = 'No answer: ' + error.message;
            state.className = 'state bad';
          }
          setTimeout(refresh, 2000);
        }
        setTimeout(refresh, 2000);

        """
}
