import Fulfillment
import HTTPTypes
import Ledger
import Logging
import NamesAndTimes
import Operations
import ReceiptdConfiguration

/// What changes something: asked first, then done once it is confirmed.
extension Console {
    /// What a change is about.
    private struct Choice {
        let change: ConsoleChange
        /// Nil: what the filter shows.
        let id: String?
        let filter: ListFilter

        /// Several players may have given their submissions one id.
        var isOfAny: Bool { id == nil || change == .rejectParked }
    }

    /// Nil where it is none.
    private func choice(_ fields: [String: String]) -> Choice? {
        guard let change = fields["change"].flatMap(ConsoleChange.init) else { return nil }
        // An empty id is a fault, and never all.
        if let id = fields["id"] {
            let isTransaction = change != .retry && change != .rejectParked
            guard !id.isEmpty, !isTransaction || TransactionIDText.isSound(id), id.count <= SearchLimits.maximumID,
                !id.utf8.contains(0)
            else { return nil }
            return Choice(change: change, id: id, filter: ListFilter())
        }
        guard change.takesFilter, let list = lists.first(where: { $0.name == change.list }),
            let filter = Self.filter(fields, of: list)
        else { return nil }
        return Choice(change: change, id: nil, filter: filter)
    }

    /// What a change would be of.
    private struct Found {
        let count: Int
        /// What the form carries to tell whether it is still the same.
        var mark: String { "\(count):\(digest)" }
        var digest = ""
    }

    private func found(_ choice: Choice) async throws -> Found {
        switch choice.change {
        case .release:
            let count = try await HoldAdministration(pool: pool).count(HeldList.filter(choice.filter, id: choice.id))
            return Found(count: count.all - count.released, digest: count.digest)
        case .rejectHeld:
            let count = try await HoldAdministration(pool: pool).count(HeldList.filter(choice.filter, id: choice.id))
            return Found(count: count.all, digest: count.digest)
        case .retry:
            let count = try await ParkedAdministration(pool: pool).count(
                ParkedList.filter(choice.filter, id: choice.id))
            return Found(count: count.all - count.leased)
        case .rejectParked:
            let count = try await ParkedAdministration(pool: pool).count(
                ParkedList.filter(choice.filter, id: choice.id))
            return Found(count: count.all, digest: count.digest)
        case .retryUnclaimed:
            let count = try await UnclaimedAdministration(pool: pool).count(
                UnclaimedList.filter(choice.filter, id: choice.id))
            return Found(count: count.retriable, digest: count.digest)
        case .revoke, .reinstate:
            guard let grant = try await GrantAdministration(pool: pool).find(StoreTransactionID(choice.id ?? "")) else {
                return Found(count: 0)
            }
            let revoked = grant.operatorRevokedAt != nil
            return Found(count: revoked == (choice.change == .reinstate) ? 1 : 0)
        }
    }

    /// What is known of the one that a change names; of a submission's id, of each player who chose it.
    private func facts(_ choice: Choice) async throws -> [InspectionRow] {
        guard let id = choice.id else { return [] }
        let inspection = try await Inspection.of(
            id, days: 0, limit: SearchLimits.standings, within: SearchLimits.seconds, in: pool)
        return inspection.rows(choice.change.section).filter { $0.text(choice.change.idColumn) == id }
    }

    func confirm(_ request: ConsoleRequest, _ session: Sessions.Session) async throws -> ConsoleAnswer {
        guard session.user.mayChange else { return Self.mayNot(session) }
        guard let choice = choice(request.query) else { return Self.noChange(session) }
        let found = try await found(choice)
        guard found.count > 0 else {
            return Self.message(
                "There is nothing to change: it was decided meanwhile, or the filter shows nothing that waits.",
                .conflict, title: choice.change.title, session: session)
        }
        return ConsoleAnswer(
            body: ConfirmPage(
                change: choice.change, id: choice.id, filter: choice.filter, count: found.count, mark: found.mark,
                rows: try await facts(choice), session: session
            ).html)
    }

    func change(_ request: ConsoleRequest, _ session: Sessions.Session) async throws -> ConsoleAnswer {
        guard !isForged(request), let token = request.form["token"], session.takes(token) else {
            logger.warning(
                "a form was not sent by the console's own page: nothing was done",
                [.operatorName: "\(session.user.name ?? "")"])
            return Self.message(
                "This form was not sent by the console: nothing was done.", .forbidden, title: "Refused",
                session: session)
        }
        switch request.path {
        case "/sign-out": return signOut(request, session)
        case "/end-session": return endSession(request, session)
        case "/change": break
        default: return Self.message("There is no such page.", .notFound, title: "Not found", session: session)
        }
        guard session.user.mayChange, let operatorName = session.user.name else { return Self.mayNot(session) }
        guard let choice = choice(request.form),
            let shown = request.form["shown"].flatMap({ Int($0) }), (1...ListLimits.maximumChanged).contains(shown)
        else { return Self.noChange(session) }
        // What came since would be rejected or let pass unseen in the place of what is gone.
        if choice.isOfAny, choice.change.needsSameSet, try await found(choice).mark != request.form["found"] {
            return Self.message(
                "What the filter shows has changed since: nothing was done. Look again.", .conflict, title: "Changed",
                session: session)
        }
        let note = String((request.form["note"] ?? "").trimmed)
        guard note.unicodeScalars.count <= ConfirmPage.maximumNote, !note.utf8.contains(0) else {
            return Self.message(
                "A note is at most \(ConfirmPage.maximumNote) characters.", .badRequest, title: "Note", session: session
            )
        }
        let entry = try await ChangeRun(pool: pool, operatorName: operatorName).run(
            choice.change, id: choice.id, filter: choice.filter, shown: shown, note: note.isEmpty ? nil : note)
        metrics.consoleChanges.with(choice.change.rawValue).increment()
        logger.info(
            "changed by the console",
            [
                .operatorName: "\(operatorName)", .detail: "\(choice.change.rawValue)",
                .count: .stringConvertible(shown),
            ])
        return .seeOther(ConsolePage.address("/changes", [("made", "\(entry)")]))
    }

    private func endSession(_ request: ConsoleRequest, _ session: Sessions.Session) -> ConsoleAnswer {
        guard session.user.mayChange else { return Self.mayNot(session) }
        guard let number = request.form["number"].flatMap({ Int($0) }), let ended = sessions.end(number: number) else {
            return Self.message(
                "This session has ended before: nothing was done.", .conflict, title: "Sessions", session: session)
        }
        logger.info(
            "a session of the console was ended by an operator",
            [.operatorName: "\(session.user.name ?? "")", .detail: "\(ended.user.name ?? "")"])
        return .seeOther("/sessions")
    }

    static func mayNot(_ session: Sessions.Session) -> ConsoleAnswer {
        message("Your role is to read: nothing was done.", .forbidden, title: "Refused", session: session)
    }

    private static func noChange(_ session: Sessions.Session) -> ConsoleAnswer {
        message(
            "This is no change that the console knows: nothing was done.", .badRequest, title: "Refused",
            session: session)
    }
}
