import Administration
import BackOffice
import HTTPTypes
import NamesAndTimes
import ReceiptdConfiguration

/// Answers requests for pages that change nothing.
extension Console {
    var lists: [any ConsoleList] {
        [
            HeldList(store: HoldAdministration(pool: pool)), ParkedList(store: ParkedAdministration(pool: pool)),
            UnclaimedList(store: UnclaimedAdministration(pool: pool)),
            SubscriptionList(store: SubscriptionAdministration(pool: pool)),
            RefundList(store: RefundAdministration(pool: pool)),
        ]
    }

    func show(_ request: ConsoleRequest, _ session: Sessions.Session) async throws -> ConsoleAnswer {
        switch request.path {
        case "/":
            let span = request.query["span"].flatMap(TrafficSpan.init) ?? .hour
            let traffic = try await Traffic.read(span, from: pool)
            return ConsoleAnswer(body: TrafficPage(traffic: traffic, session: session).html)
        case "/search": return try await search(request, session)
        case "/dead-letters", "/dead-letters.csv": return try await deadLetters(request, session)
        case "/changes": return try await changes(request, session)
        case "/sessions":
            guard session.user.mayChange else { return Self.mayNot(session) }
            return ConsoleAnswer(body: SessionsPage(sessions: sessions.all(now: Self.now), session: session).html)
        case "/confirm": return try await confirm(request, session)
        default: break
        }
        for list in lists {
            if request.path == "/" + list.name { return try await page(of: list, request, session) }
            if request.path == "/\(list.name).csv" { return try await file(of: list, request, session) }
        }
        return Self.message("There is no such page.", .notFound, title: "Not found", session: session)
    }

    static func file(_ name: String, _ text: String) -> ConsoleAnswer {
        ConsoleAnswer(type: "text/csv; charset=utf-8", body: text, fileName: "receiptd-\(name).csv")
    }

    private func deadLetters(_ request: ConsoleRequest, _ session: Sessions.Session) async throws -> ConsoleAnswer {
        var spans: [Traffic] = []
        for span in TrafficSpan.allCases { spans.append(try await Traffic.read(span, from: pool)) }
        var page = DeadLettersPage(spans: spans, session: session)
        let filter = ListFilter(request.query, reasons: page.reasons, parts: [.player], ages: DeadLettersPage.ages)
        guard let filter, filter.bundleID == nil else { return Self.unknownFilter(session) }
        page.filter = filter
        guard request.path == "/dead-letters.csv" else {
            page.letters = try await KeptDeadLetters.list(
                filter.reason.map { [$0] } ?? page.reasons, player: filter.playerID, since: filter.time,
                limit: ListLimits.page, in: pool)
            return ConsoleAnswer(body: page.html)
        }
        return Self.file("dead-letters", CSV.text(DeadLettersPage.heads, page.rows))
    }

    private func changes(_ request: ConsoleRequest, _ session: Sessions.Session) async throws -> ConsoleAnswer {
        guard let page = Self.page(request) else { return Self.noPage("Changes", session) }
        // The query asks for one more row than fits on a page. If it finds that row, there is a next page.
        let found = try await ConsoleChanges(pool: pool).list(
            limit: ListLimits.page + 1, skipping: (page - 1) * ListLimits.page)
        return ConsoleAnswer(
            body: ChangesPage(
                changes: Array(found.prefix(ListLimits.page)), hasMore: found.count > ListLimits.page, page: page,
                made: Set((request.query["made"] ?? "").split(separator: ",").compactMap { Int64($0) }),
                session: session
            ).html)
    }

    /// Returns the number of the requested page; nil if it is not from 1 to `ListLimits.maximumPages`.
    private static func page(_ request: ConsoleRequest) -> Int? {
        let page = request.query["page"].map { Int($0) ?? 0 } ?? 1
        return (1...ListLimits.maximumPages).contains(page) ? page : nil
    }

    private static func noPage(_ title: String, _ session: Sessions.Session) -> ConsoleAnswer {
        message("The page must be from 1 to \(ListLimits.maximumPages).", .badRequest, title: title, session: session)
    }

    private func search(_ request: ConsoleRequest, _ session: Sessions.Session) async throws -> ConsoleAnswer {
        var id = request.query["q"] ?? ""
        let bare = String(id.trimmed)
        guard !bare.isEmpty, id.count <= SearchLimits.maximumID else {
            return Self.message(
                "Search for an id of 1 to \(SearchLimits.maximumID) characters.", .badRequest, title: "Search",
                session: session)
        }
        let days = request.query["days"].flatMap { Int($0) } ?? SearchLimits.days
        guard (0...SearchLimits.maximumDays).contains(days) else {
            return Self.message(
                "The days must be from 0 to \(SearchLimits.maximumDays).", .badRequest, title: "Search",
                session: session)
        }
        guard let page = Self.page(request) else { return Self.noPage("Search", session) }
        let isFar = days > SearchLimits.days
        guard !isFar || farSearch.begin() else {
            return Self.message(
                "Somebody is searching many days already, and only one such search runs at a time. Try again in half a minute.",
                .tooManyRequests, title: "Search", session: session)
        }
        defer { if isFar { farSearch.end() } }
        var inspection: Inspection
        do {
            inspection = try await inspect(id, days: days, page: page)
            // A pasted id may have white space around it. But a player's id may also begin or end with white space. So
            // the console searches the unchanged text first.
            if inspection.sections.allSatisfy(\.rows.isEmpty), bare != id {
                id = bare
                inspection = try await inspect(id, days: days, page: page)
            }
        } catch is Inspection.TooLong {
            return Self.message(
                "The search stopped after \(Int(SearchLimits.seconds)) s without an answer. Search fewer days, or ask an operator to "
                    + "run `receiptd inspect --days \(days)` with this id.", .serviceUnavailable, title: "Search",
                session: session)
        }
        return ConsoleAnswer(
            body: InspectionPage(id: id, days: days, page: page, inspection: inspection, session: session).html)
    }

    private func inspect(_ id: String, days: Int, page: Int) async throws -> Inspection {
        try await Inspection.of(
            id, days: days, limit: SearchLimits.rows, skipping: (page - 1) * SearchLimits.rows,
            within: SearchLimits.seconds, in: pool)
    }

    private static func unknownFilter(_ session: Sessions.Session) -> ConsoleAnswer {
        message(
            "This list has no such filter. Choose one from its form.", .badRequest, title: "Filter", session: session)
    }

    private func page(
        of list: any ConsoleList, _ request: ConsoleRequest, _ session: Sessions.Session
    ) async throws -> ConsoleAnswer {
        guard let filter = ListFilter(request.query, of: list) else { return Self.unknownFilter(session) }
        guard let page = Self.page(request) else { return Self.noPage(list.title, session) }
        let count = try await list.count(filter)
        let rows = try await list.rows(filter, limit: ListLimits.page, skipping: (page - 1) * ListLimits.page)
        return ConsoleAnswer(
            body: ListPage(
                list: list, filter: filter, count: count, rows: rows, page: page,
                kinds: try await ListedKinds.of(list.table, in: pool), session: session
            ).html)
    }

    private func file(
        of list: any ConsoleList, _ request: ConsoleRequest, _ session: Sessions.Session
    ) async throws -> ConsoleAnswer {
        guard let filter = ListFilter(request.query, of: list) else { return Self.unknownFilter(session) }
        let rows = try await list.rows(filter, limit: ListLimits.maximumExported + 1)
        guard rows.count <= ListLimits.maximumExported else {
            // An operator could think that a shortened file is the whole list.
            return Self.message(
                "The file would have more than \(ListLimits.maximumExported) rows. Filter the list first.",
                .contentTooLarge, title: list.title, session: session)
        }
        return Self.file(list.name, CSV.text(list.columns.map(\.name), rows.map(\.cells)))
    }
}
