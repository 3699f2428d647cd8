import OperationsHTTP

/// The stylesheet at `/style.css`.
enum ConsoleStyle {
    static let css =
        PageStyle.css + """

            .name { font-size: 1.2rem; font-weight: 600; margin: 0; } header p { margin: 0; }
            main h1 { font-size: 1.4rem; margin: 1rem 0 .25rem; } main > p { margin: .25rem 0 .75rem; }
            .skip { position: absolute; left: -100rem; } .skip:focus { position: static; }
            :focus-visible { outline: 3px solid var(--repeat); outline-offset: 2px; }
            nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; margin: .75rem 0 0; padding: 0 0 .5rem;
              border-bottom: 1px solid var(--line); }
            nav a { display: inline-block; padding: .35rem 0; } nav a[aria-current] { font-weight: 600; text-decoration: none; }
            form { margin: 0; } .search, .filter { display: flex; flex-wrap: wrap; gap: .4rem .75rem; align-items: end; margin-top: .75rem; }
            .search label, .filter label { align-self: center; } .filter > div { display: grid; gap: .15rem; max-width: 100%; } .filter label { align-self: start; } .filter input { width: 11rem; }
            .search input { flex: 1 1 14rem; min-width: 0; } label { color: var(--soft); }
            input, select, button, textarea, .button { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--soft);
              border-radius: .3rem; padding: .4rem .6rem; min-height: 2.4rem; box-sizing: border-box; max-width: 100%; }
            button, .button { background: var(--tile); cursor: pointer; text-decoration: none; display: inline-block; }
            .danger { border-color: var(--bad); color: var(--bad); font-weight: 600; }
            .column { display: grid; gap: .4rem; max-width: 24rem; margin-top: 1rem; } .column button { margin-top: .5rem; }
            .actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .75rem 0; }
            .wide { overflow-x: auto; margin: .75rem 0; } caption { text-align: left; color: var(--soft); padding-bottom: .25rem; }
            body { max-width: 100rem; } .wide td { max-width: 26rem; overflow-wrap: anywhere; } .tables td { overflow-wrap: normal; }
            .wide .word, .decide { white-space: nowrap; } td small { display: block; color: var(--text); } td small i { color: var(--soft); font-style: normal; } td p { margin: .15rem 0; } .decide input { min-height: 1.2rem; width: 1.2rem; margin: .4rem .6rem 0 0; vertical-align: top; }
            time { white-space: nowrap; } td { vertical-align: top; padding-right: 1rem; } td.n, th.n { white-space: nowrap; } td .button, td button { min-height: 2rem; padding: .15rem .5rem; }
            .message { border-left: 4px solid var(--warn); padding: .5rem .75rem; background: var(--tile); margin: .75rem 0; }
            .answer { font-size: 1.15rem; margin: .75rem 0; overflow-wrap: anywhere; }
            .badge { border: 1px solid currentColor; border-radius: 1rem; padding: .1rem .6rem; white-space: nowrap; }
            .badge.soft { color: var(--soft); } td .badge { white-space: normal; }
            .standings { list-style: none; margin: .5rem 0; padding: 0; } .standings > li { margin: .5rem 0; overflow-wrap: anywhere; }
            .timeline { margin: .5rem 0; padding: 0 0 0 .75rem; border-left: 3px solid var(--line); list-style: none; }
            .timeline li { margin: .3rem 0; overflow-wrap: anywhere; } .timeline li > time { color: var(--soft); margin-right: .5rem; }
            .facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: .4rem 1.5rem; margin: .5rem 0; }
            .facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
            .tell { border-left: 4px solid var(--line); padding-left: .75rem; } details { margin-top: 1rem; } summary { cursor: pointer; padding: .35rem 0; }
            h2 { margin-top: 1.5rem; } .pages { display: flex; gap: 1rem; align-items: center; }
            .wide table { font-size: .9rem; } td small { font-size: .85rem; }
            @media (min-width: 44rem) and (max-width: 76rem) { .wide table { font-size: .8rem; } td small { font-size: .75rem; }
              .wide td, .wide th { padding-right: .6rem; } .wide td .button { padding: .15rem .4rem; } }
            @media (max-width: 44rem) { .filter { display: grid; grid-template-columns: 1fr 1fr; } .filter > button { grid-column: 1 / -1; }
              .filter select, .filter input { width: 100%; }  .wide table, .wide caption, .wide tbody, .wide tr, .wide td { display: block; }
              .wide thead { display: none; } .decide { white-space: normal; } .wide tr { border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .6rem; margin: .6rem 0; }
              .wide td { border: 0; padding: .15rem 0; max-width: none; text-align: left; white-space: normal; } .wide td:empty { display: none; }
              .wide td::before { content: attr(data-label) ": "; color: var(--soft); } }
            @media (max-width: 30rem) { .search button, .search input { width: 100%; } td, th { padding-right: .75rem; } }

            """
}
