import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import OperationsHTTP

/// The states (`Standing`) of all purchases, submissions and subscriptions that a search found: first those that wait,
/// then subscriptions, grants and refusals.
struct Standings {
    let inspection: Inspection

    var all: [Standing] { waiting + subscriptions + grants + refused }

    private func rows(_ name: String) -> [InspectionRow] { inspection.rows(name) }

    var waiting: [Standing] { rows("holds").map(held) + rows("parked").map(parked) + announced }

    /// Returns the sentence about a reason; empty for a reason that this release does not know.
    private static func meaning(_ reason: String?) -> String {
        reason.flatMap(Reason.init(rawValue:)).map { " " + HTMLText.shown($0.cause.sentence) } ?? ""
    }

    private func held(_ row: InspectionRow) -> Standing {
        let reason = row.text("reason") ?? "?"
        let what = "\(row.purchase) of player \(row.link("player_id")), transaction \(row.link("transaction_id")),"
        let isReleased = row.text("released_at") != nil
        let id = row.text("transaction_id").map { HeldRow(transactionID: $0, playerID: row.text("player_id")).id }
        let reject = id.map { Standing.Change(change: .rejectHeld, id: $0) }
        let release = id.map { Standing.Change(change: .release, id: $0) }
        let refund = rows("refunds").first {
            $0.text("transaction_id") == row.text("transaction_id") && $0.text("revoked_at") != nil
        }
        let refunded = refund.map {
            let isPart = ($0.number("refunded_milli_percent") ?? 100_000) < 100_000
            return
                " <strong>Apple refunded \(isPart ? "a part of it" : "it") at \($0.shownTime("revoked_at")).</strong>"
        }
        return Standing(
            row: row, state: "held: \(reason)", tone: refund == nil ? .warn : .bad,
            sentence: (isReleased
                ? "\(what) was held. An operator released it at \(row.shownTime("released_at")), and a worker decides it again."
                : "\(what) is paid and waits for an operator's decision since \(row.shownTime("held_at")).\(Self.meaning(reason))")
                + (refunded ?? ""),
            changes: [isReleased ? nil : release, reject].compactMap(\.self),
            answer: refund == nil ? PlayerWords.held : PlayerWords.refunded)
    }

    private func parked(_ row: InspectionRow) -> Standing {
        let reason = row.text("reason").flatMap(ParkingReason.init)
        let meaning = reason.map { " " + HTMLText.shown($0.sentence(detail: row.text("detail"))) } ?? ""
        let why = [row.text("reason"), row.text("detail")].compactMap(\.self).joined(separator: ", ")
        let next =
            row.isTrue("is_leased")
            ? "A worker is trying it now."
            : row.time("due_at").map {
                $0 <= WallClock.now
                    ? "The next free worker tries it: it is due since \(ShownTime.html($0))."
                    : "The next try is at \(ShownTime.html($0))."
            } ?? "No try is planned: an operator has to retry it."
        let changes = row.text("submission_id").map { id in
            (row.isTrue("is_leased") ? [] : [Standing.Change(change: .retry, id: id)])
                + [Standing.Change(change: .rejectParked, id: id)]
        }
        return Standing(
            row: row, state: reason?.state ?? "waits", tone: .warn,
            sentence: "The submission \(row.link("submission_id")) of player \(row.link("player_id")) waits since "
                + "\(row.shownTime("parked_at")).\(meaning) \(next) Code: \(HTMLText.shown(why)).",
            changes: changes ?? [], answer: reason?.answer ?? "")
    }

    private var announced: [Standing] {
        rows("announced").compactMap { row in
            let told = "Apple reported \(row.purchase) at \(row.shownTime("stored_at"))"
            switch row.text("state") {
            case "unclaimed":
                let id = row.text("transaction_id")
                return Standing(
                    row: row, state: "unclaimed: \(row.text("reason") ?? "?")", tone: .warn,
                    sentence: "\(told), and no player has got it."
                        + (row.text("reason").flatMap(UnclaimedReason.init).map { " " + HTMLText.shown($0.sentence) }
                            ?? ""),
                    changes: [id.map { Standing.Change(change: .retryUnclaimed, id: $0) }].compactMap(\.self),
                    answer: PlayerWords.unclaimed)
            case "waiting":
                return Standing(
                    row: row, state: "waits", tone: .warn,
                    sentence: "\(told). The game has not submitted it yet.", answer: PlayerWords.unclaimed)
            default: return nil
            }
        }
    }

    var subscriptions: [Standing] {
        rows("subscriptions").map { row in
            let state = row.text("state").flatMap(SubscriptionState.init)
            let what =
                "The subscription \(row.link("original_transaction_id")) to \(row.shown("product_id")) of player "
                + row.link("player_id")
            let until = row.shownTime("expires_at")
            return switch state {
            case .active:
                Standing(
                    row: row, state: "subscribed", tone: .good, sentence: "\(what) is paid until \(until).")
            case .gracePeriod:
                Standing(
                    row: row, state: "subscribed: in grace", tone: .warn,
                    sentence: "\(what): the payment due at \(until) failed. Apple lets the player keep it until "
                        + "\(row.shownTime("grace_expires_at")).",
                    answer: PlayerWords.paymentFailed)
            case .billingRetry:
                Standing(
                    row: row, state: "not paid", tone: .bad,
                    sentence: "\(what) ended at \(until). The payment failed, and Apple keeps trying.",
                    answer: PlayerWords.paymentFailed)
            case .revoked:
                Standing(
                    row: row, state: "taken back", tone: .bad,
                    sentence: "\(what) is over: Apple refunded it or took it back.",
                    answer: PlayerWords.refunded)
            case .expired, nil:
                Standing(
                    row: row, state: row.text("state") ?? "?", tone: .plain, sentence: "\(what) ended at \(until).")
            }
        }
    }

    // MARK: - Granted

    var grants: [Standing] { rows("grants").map(granted) }

    private func granted(_ row: InspectionRow) -> Standing {
        let id = row.text("transaction_id") ?? ""
        let quantity = row.number("quantity") ?? 1
        let units = row.number("revoked_units") ?? 0
        let isRevoked = row.text("revoked_at") != nil
        let isPart = isRevoked && (1..<quantity).contains(units)
        let isByOperator = row.text("operator_revoked_at") != nil
        let given = "\(row.purchase) was granted to player \(row.link("player_id")) at \(row.shownTime("granted_at"))"
        let reinstate = Standing.Change(change: .reinstate, id: id)
        let revoke = Standing.Change(change: .revoke, id: id)
        if isRevoked {
            let part = isPart ? "\(units) of \(quantity) were taken back" : "It was taken back"
            return Standing(
                row: row, state: isPart ? "granted, \(units) of \(quantity) taken back" : "taken back",
                tone: isPart ? .warn : .bad,
                sentence: "\(given). \(part) at \(row.shownTime("revoked_at")) \(revoker(id, isByOperator)).",
                changes: isByOperator ? [reinstate] : isPart ? [revoke] : [],
                answer: isByOperator ? "" : PlayerWords.refunded)
        }
        let isPending = rows("outbox").contains { $0.text("subject") == id }
        let event =
            row.isTrue("imported")
            ? "An import entered it, without an event to the game."
            : isPending ? "Its event is not published yet." : "The game's servers got the event."
        return Standing(
            row: row, state: "granted", tone: .good, sentence: "\(given). \(event)", changes: [revoke],
            answer: PlayerWords.granted)
    }

    private func revoker(_ transaction: String, _ isByOperator: Bool) -> String {
        guard isByOperator else { return "by Apple" }
        let decision = rows("grant_decisions").first {
            $0.text("transaction_id") == transaction && $0.text("decision") == "revoke"
        }
        return "by operator " + (decision?.shown("operator") ?? "?")
    }

    // MARK: - Refused

    /// All refusals, including dead letters (records that workers set aside) that name no sender.
    var refused: [Standing] { rejectedByOperators + answers + refusedUnasked + locallyRefused }

    private var rejectedByOperators: [Standing] {
        let granted = Set(rows("grants").compactMap { $0.text("transaction_id") })
        return rows("hold_decisions").filter {
            $0.text("decision") == "reject" && !granted.contains($0.text("transaction_id") ?? "")
        }.map { row in
            Standing(
                row: row, state: "refused: refused_by_operator", tone: .bad,
                sentence:
                    "\(row.purchase) of player \(row.link("player_id")), transaction \(row.link("transaction_id")), "
                    + "was refused by operator \(row.shown("operator")) at \(row.shownTime("decided_at")).",
                answer: PlayerWords.refused(Reason.refusedByOperator.rawValue))
        }
    }

    /// The refusals of purchases that Apple reported and nobody submitted. No event reports such a refusal.
    private var refusedUnasked: [Standing] {
        let granted = Set(rows("grants").compactMap { $0.text("transaction_id") })
        return rows("announced").filter {
            $0.text("state") == "refused" && !granted.contains($0.text("transaction_id") ?? "")
        }.map { row in
            let reason = row.text("reason")
            return Standing(
                row: row, state: "refused: \(reason ?? "?")", tone: .bad,
                sentence: "Apple reported \(row.purchase), transaction \(row.link("transaction_id")), at "
                    + "\(row.shownTime("stored_at")). Nobody had submitted it, and receiptd refused it.\(Self.meaning(reason))",
                answer: PlayerWords.refused(reason))
        }
    }

    private var answers: [Standing] {
        rows("outcomes").filter { $0.text("answer") == "receipt.rejected" }.map { row in
            let reason = row.text("reason") ?? "?"
            let why = row.text("detail").map { " " + HTMLText.shown($0) } ?? Self.meaning(reason)
            let listed = (row.value["transactions"]?.array ?? []).compactMap { $0["transaction_id"]?.string }
            let of =
                listed.isEmpty
                ? "" : " It contains transaction \(listed.prefix(10).map(InspectionRow.link).joined(separator: ", "))."
            return Standing(
                row: row, state: "refused: \(reason)", tone: reason == Reason.alreadyGranted.rawValue ? .plain : .bad,
                sentence:
                    "The submission \(row.link("submission_id")) of player \(row.link("player_id")) was refused at "
                    + "\(row.shownTime("decided_at")).\(why)\(of)", answer: PlayerWords.refused(reason))
        }
    }

    private var locallyRefused: [Standing] {
        rows("local_refusals").map { row in
            if let reason = row.text("reason").flatMap(DeadLetter.Reason.init) {
                return Standing(
                    row: row, state: "dead letter: \(reason.rawValue)", tone: .bad,
                    sentence:
                        "The record \(row.link("submission_id")), with the key \(row.link("player_id")), came at "
                        + "\(row.shownTime("occurred_at")) and names no player, so no event answered it. \(row.shown("detail"))",
                    answer: PlayerWords.refused(nil))
            }
            return Standing(
                row: row, state: "refused: \(row.text("reason") ?? "?")", tone: .bad,
                sentence:
                    "The submission \(row.link("submission_id")) of player \(row.link("player_id")) was refused at "
                    + "\(row.shownTime("occurred_at")) without asking Apple. \(row.shown("detail"))",
                answer: PlayerWords.refused(row.text("reason")))
        }
    }
}
