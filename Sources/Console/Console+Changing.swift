import BackOffice
import Fulfillment
import HTTPTypes
import Logging
import NamesAndTimes
import Operations
import ReceiptdConfiguration

/// Answers requests that change something. The console first asks, and makes the change after the operator confirms.
extension Console {
    /// The number and the digest of the rows that a change would change, for each filter in `ChangeSubject.targets`.
    private struct Found {
        var counts: [Int] = []
        var digests: [String] = []

        var count: Int { counts.reduce(0, +) }
        /// The text that the confirming form sends back. By it the console sees whether the rows have changed since.
        var mark: String { zip(counts, digests).map { "\($0):\($1)" }.joined(separator: ",") }
    }

    private func found(_ subject: ChangeSubject) async throws -> Found {
        var found = Found()
        for target in subject.targets {
            let (count, digest) = try await counted(subject.change, target)
            found.counts.append(count)
            found.digests.append(digest)
        }
        return found
    }

    private func counted(_ change: ConsoleChange, _ target: ListFilter) async throws -> (Int, String) {
        switch change {
        case .release:
            let count = try await HoldAdministration(pool: pool).count(target.waiting())
            return (count.all - count.released, count.digest)
        case .rejectHeld:
            let count = try await HoldAdministration(pool: pool).count(target.waiting())
            return (count.all, count.digest)
        case .retry:
            let count = try await ParkedAdministration(pool: pool).count(target.waiting())
            return (count.all - count.leased, "")
        case .rejectParked:
            let count = try await ParkedAdministration(pool: pool).count(target.waiting())
            return (count.all, count.digest)
        case .retryUnclaimed:
            let count = try await UnclaimedAdministration(pool: pool).count(target.waiting())
            return (count.retriable, count.digest)
        case .revoke, .reinstate:
            let grant = try await GrantAdministration(pool: pool).find(StoreTransactionID(target.id ?? ""))
            return ((grant.map { ($0.operatorRevokedAt != nil) == (change == .reinstate) } ?? false) ? 1 : 0, "")
        }
    }

    /// Returns the rows of the change as HTML: all named rows, or the first rows that match the filter. A submission id
    /// that several players use has a row for each player.
    /// - Parameter count: the number of all rows.
    private func named(_ subject: ChangeSubject, count: Int) async throws -> String {
        guard let list = lists.first(where: { $0.name == subject.change.list }) else {
            let grant = try await Inspection.of(
                subject.ids.first ?? "", days: 0, limit: SearchLimits.standings, within: SearchLimits.seconds, in: pool)
            return grant.rows("grants").filter { $0.text("transaction_id") == subject.ids.first }.map(Facts.html)
                .joined()
        }
        var rows: [ListRow] = []
        for row in subject.targets { rows += try await list.rows(row, limit: SearchLimits.standings) }
        rows.removeAll { $0.id == nil || !($0.changes ?? list.changes).contains(subject.change) }
        guard !rows.isEmpty else { return "" }
        let some = subject.ids.isEmpty && count > rows.count ? "<p>The first \(rows.count) of them:</p>" : ""
        return some + ListTable(list: list, rows: rows).html
    }

    func confirm(_ request: ConsoleRequest, _ session: Sessions.Session) async throws -> ConsoleAnswer {
        guard session.user.mayChange else { return Self.mayNot(session) }
        guard let subject = ChangeSubject(request.query, lists: lists) else { return Self.noChange(session) }
        guard !subject.isNothing else {
            return Self.message(
                "You selected no row, so nothing was done. Go back and tick rows.", .badRequest,
                title: subject.change.title,
                session: session)
        }
        let found = try await found(subject)
        guard found.count > 0 else {
            return Self.message(
                "There is nothing to change: the rows are decided already, or no waiting row matches the filter.",
                .conflict, title: subject.change.title, session: session)
        }
        return ConsoleAnswer(
            body: ConfirmPage(
                subject: subject, count: found.count, mark: found.mark,
                named: try await named(subject, count: found.count), session: session
            ).html)
    }

    func change(_ request: ConsoleRequest, _ session: Sessions.Session) async throws -> ConsoleAnswer {
        guard !isForged(request), let token = request.form["token"], session.takes(token) else {
            logger.warning(
                "the console refused a form that its own page did not send",
                [.operatorName: "\(session.user.name ?? "")"])
            return Self.message(
                "This form was not sent by the console, so nothing was done. Open the page again and send the form "
                    + "again.",
                .forbidden, title: "Refused",
                session: session)
        }
        switch request.path {
        case "/sign-out": return signOut(request, session)
        case "/end-session": return endSession(request, session)
        case "/change": break
        default: return Self.message("There is no such page.", .notFound, title: "Not found", session: session)
        }
        guard session.user.mayChange, let operatorName = session.user.name else { return Self.mayNot(session) }
        guard let subject = ChangeSubject(request.form, lists: lists), !subject.isNothing,
            let shown = request.form["shown"].flatMap({ Int($0) }), (1...ListLimits.maximumChanged).contains(shown)
        else { return Self.noChange(session) }
        let found = subject.isOfAny || subject.needsSameRows ? try await found(subject) : Found(counts: [shown])
        // Without this check, the change could release or reject rows that the operator has not seen.
        if subject.needsSameRows, found.mark != request.form["found"] {
            return Self.message(
                "The list has changed since you looked, so nothing was done. Look again.", .conflict, title: "Changed",
                session: session)
        }
        let note = String((request.form["note"] ?? "").trimmed)
        guard note.unicodeScalars.count <= ConfirmPage.maximumNote, !note.utf8.contains(0) else {
            return Self.message(
                "A note has at most \(ConfirmPage.maximumNote) characters.", .badRequest, title: "Note",
                session: session
            )
        }
        let run = ChangeRun(
            pool: pool, change: subject.change, operatorName: operatorName, note: note.isEmpty ? nil : note)
        let targets = zip(subject.targets, subject.ids.count > 1 ? found.counts.map { max(1, $0) } : [shown])
        let entries = try await run.all(Array(targets))
        metrics.consoleChanges.with(subject.change.rawValue).increment()
        logger.info(
            "an operator made a change in the console",
            [
                .operatorName: "\(operatorName)", .detail: "\(subject.change.rawValue)",
                .count: .stringConvertible(shown),
            ])
        let made = entries.map { "\($0)" }.joined(separator: ",")
        return .seeOther(ConsolePage.address("/changes", [("made", made)]))
    }

    private func endSession(_ request: ConsoleRequest, _ session: Sessions.Session) -> ConsoleAnswer {
        guard session.user.mayChange else { return Self.mayNot(session) }
        guard let number = request.form["number"].flatMap({ Int($0) }), let ended = sessions.end(number: number) else {
            return Self.message(
                "This session has already ended.", .conflict, title: "Sessions", session: session)
        }
        logger.info(
            "an operator ended a session of the console",
            [.operatorName: "\(session.user.name ?? "")", .detail: "\(ended.user.name ?? "")"])
        return .seeOther("/sessions")
    }

    static func mayNot(_ session: Sessions.Session) -> ConsoleAnswer {
        message(
            "Your role is read: you may not change anything, and may not see the sessions.", .forbidden,
            title: "Refused", session: session)
    }

    private static func noChange(_ session: Sessions.Session) -> ConsoleAnswer {
        message(
            "The console does not know this change, so nothing was done.", .badRequest, title: "Refused",
            session: session)
    }
}
