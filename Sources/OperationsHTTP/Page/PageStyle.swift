/// The stylesheet of the worker's page and of the console, for light and dark mode, and for wide and narrow screens.
package enum PageStyle {
    package static let css = """

        :root { color-scheme: light dark; --text: #1b1f24; --soft: #5c6570; --line: #d8dde3; --tile: #f5f7f9; --page: #fff;
          --good: #11713b; --bad: #b3261e; --warn: #8a5a00; --genuine: #1a7f43; --repeat: #2f6fb5; --foreign: #8a6d00;
          --junk: #7a5195; --unverifiable: #c05a00; --other: #6b7580; }
        @media (prefers-color-scheme: dark) { :root { --text: #e7eaee; --soft: #9aa4af; --line: #333a42; --tile: #1d2228;
          --page: #14171b; --good: #57c98a; --bad: #ff8a80; --warn: #f0b952; --genuine: #57c98a; --repeat: #79b4f2;
          --foreign: #d9b945; --junk: #c39be0; --unverifiable: #f2a15a; --other: #9aa4af; } }
        body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--page); color: var(--text);
          font: 15px/1.45 system-ui, sans-serif; }
        header { display: flex; align-items: baseline; justify-content: space-between; gap: 1rem; flex-wrap: wrap; }
        h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
        small, footer, th, .tile span { color: var(--soft); font-weight: 400; }
        .state { margin: 0; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
        .problems { margin: .75rem 0 0; padding-left: 1.2rem; color: var(--bad); }
        .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .75rem; margin-top: 1.25rem; }
        .tile { background: var(--tile); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
        .tile b { display: block; font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
        .tile span { display: block; font-size: .85rem; overflow-wrap: anywhere; }
        .about { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .25rem 0 0; color: var(--soft); }
        .about div { display: flex; gap: .35rem; } .about dd { margin: 0; color: var(--text); overflow-wrap: anywhere; }
        .charts, .tables { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 2rem; }
        .tables > div { overflow-x: auto; }
        .chart { display: block; width: 100%; height: auto; } .chart line { stroke: var(--line); }
        .chart text { fill: var(--soft); font-size: 11px; } .line { fill: none; stroke-width: 2; stroke-linecap: round;
          stroke-linejoin: round; }
        .legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; list-style: none; margin: .35rem 0 0; padding: 0;
          font-size: .85rem; } .legend li::before { content: "■ "; color: var(--c); }
        .c-genuine { --c: var(--genuine); } .c-repeat { --c: var(--repeat); } .c-foreign { --c: var(--foreign); }
        .c-junk { --c: var(--junk); } .c-unverifiable { --c: var(--unverifiable); }
        .c-other { --c: var(--other); } .c-p50 { --c: var(--repeat); } .c-p95 { --c: var(--unverifiable); }
        @media (max-width: 30rem) { body { padding: 1rem; } .tables { font-size: .8rem; } .chart text { font-size: 13px; } }
        rect { fill: var(--c); } .hint { fill: transparent; } .line { stroke: var(--c); }
        table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .5rem .3rem 0;
          border-bottom: 1px solid var(--line); } .n { text-align: right; font-variant-numeric: tabular-nums; }
        footer { margin-top: 1.5rem; font-size: .85rem; } a { color: inherit; }

        """
}
