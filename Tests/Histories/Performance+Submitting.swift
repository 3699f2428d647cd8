import AppStoreSimulation
import Encodings
import Foundation
import HistoryModel

/// Takes proofs on devices, and submits them as game servers do.
extension Performance {
    /// Takes a proof of a purchase on a device. `form` is the kind of proof: 0 a receipt with all purchases of the
    /// account, 1 a signed transaction, 2 a transaction id, 3 an iOS 6 receipt.
    func take(_ step: Step) {
        guard let id = bought[step["of"]], let purchase = facts.purchases[id] else { return }
        var proof = Proof(
            field: "receipt_data", text: "", form: .receipt, quality: .proven, bundleID: purchase.bundleID, holds: [id],
            signedAt: now, bought: step["of"])
        let account = SimulatedAccount(purchase.account, bundleID: purchase.bundleID)
        switch step["form"] {
        case 1:
            proof.field = "signed_transaction"
            proof.form = .signedTransaction
            guard let signed = try? world.apple.signedTransaction(id, signedAt: now),
                let text = try? spoiled(signed, step, &proof)
            else { return }
            proof.text = text
        case 2:
            proof.field = "transaction_id"
            proof.form = .transactionID
            proof.text = id
        case 3:
            proof.quality = .unproven
            proof.text = SimulatedTransactionReceipt(
                bundleID: purchase.bundleID, appAppleID: appleID(purchase.bundleID),
                purchase: SimulatedPurchase(
                    transactionID: id, originalTransactionID: purchase.originalID, productID: purchase.productID,
                    quantity: purchase.quantity, purchaseDateMilliseconds: purchase.purchasedAt)
            ).base64Encoded()
        default:
            let now = now
            let receipt = world.apple.inStore { $0.receipt(of: account, createdAt: now) }
            proof.holds = receipt.purchases.map(\.transactionID)
            // Apple gives a receipt's creation date in whole seconds.
            proof.signedAt = now / 1000 * 1000
            let isForged = step["forged"] == 1
            proof.quality = isForged ? .forged : .proven
            let known = proofs[step["like"]]?.signature
            let encoded = try? receipt.base64Encoded { payload in
                if isForged, let known { return known }
                var signature = try signer.sign(payload)
                if isForged { signature.signature[7] ^= 1 }
                proof.signature = signature
                return signature
            }
            guard let encoded else { return }
            proof.text = encoded
        }
        proofs[step.number] = proof
        let names = ["a receipt", "the signed transaction", "the id", "a receipt of iOS 6"]
        say(
            step,
            "a device of \(Scenery.name(purchase.payer)) takes \(names[step["form"] % 4]) of \(id), with "
                + "\(proof.holds.count) transactions\(proof.quality == .forged ? ", and forges it" : "")"
                + (proof.oddity == nil ? "" : ", which is odd (\(step["odd"]))"))
    }

    private func appleID(_ bundleID: String) -> Int64 {
        Scenery.apps.first { $0.bundleID == bundleID }?.appleID ?? 0
    }

    /// Returns the signed transaction of a step: unchanged, forged, or signed by Apple with one unreadable fact.
    private func spoiled(_ signed: String, _ step: Step, _ proof: inout Proof) throws -> String {
        let parts = signed.split(separator: ".").map(String.init)
        guard parts.count == 3, let bytes = Base64.decode(parts[1].utf8) else { return signed }
        let claims = String(decoding: bytes, as: UTF8.self)
        if step["forged"] == 1 {
            proof.quality = .forged
            let richer = claims.replacing(#""quantity":1"#, with: #""quantity":9"#).replacing("USD", with: "EUR")
            let known = proofs[step["like"]]?.text.split(separator: ".").last.map(String.init)
            return "\(parts[0]).\(Base64.encodeURL(Array(richer.utf8))).\(known ?? parts[2])"
        }
        let quantity = /"quantity":\d+/
        var odd = claims
        switch step["odd"] {
        case 1: odd.replace(quantity, with: #""quantity":0"#)
        case 2: odd.replace(quantity, with: #""quantity":-3"#)
        case 3: odd.replace(quantity, with: #""quantity":"3""#)
        case 4: odd.replace(quantity, with: #""quantity":2147483648"#)
        case 5: odd.replace(quantity, with: #""quantity":1.5"#)
        case 6: odd.replace(#""environment":"Production""#, with: #""environment":"PRODUCTION""#)
        case 7: odd.replace(#""transactionId":""#, with: #""transactionId":"0"#)
        default: return signed
        }
        proof.oddity = step["odd"] == 7 ? .identity : .decidingFact
        return try signer.signedTransaction(claims: odd)
    }

    func submit(_ step: Step) async throws {
        guard let proof = proofs[step["of"]] else { return }
        let player = Scenery.player(step["player"])
        let id = "s\(step.number)"
        var bundleID = proof.bundleID
        var text = proof.text
        var quality = proof.quality
        switch step["alter"] {
        case 1: bundleID = "com.histories.nowhere"
        case 2: bundleID = Scenery.apps.first { $0.bundleID != proof.bundleID }?.bundleID ?? bundleID
        case 3:
            (text, quality) = proof.form == .transactionID ? (text, quality) : ("??? no receipt at all", .unreadable)
        case 4: quality = .malformed
        default: break
        }
        // A transaction id does not show its app, so the `bundle_id` of another app would not contradict it.
        if proof.form == .transactionID { bundleID = proof.bundleID }
        var submission = Submission(
            id: id, player: player, bundleID: bundleID, form: proof.form, quality: quality, holds: proof.holds,
            signedAt: proof.signedAt)
        submission.proofBundleID = proof.bundleID
        submission.oddity = proof.oddity
        submission.knownGraces = post.knownGraces.intersection(proof.holds)
        let purchase = bought[proof.bought].flatMap { facts.purchases[$0] }
        switch step["token"] {
        case 1: submission.token = player
        case 2: submission.token = Scenery.player(step["player"] + 1)
        default: break
        }
        if step["hint"] == 1 { submission.hint = purchase?.productID }
        if step["hint"] == 2 {
            submission.hint = "\(proof.bundleID).\(Scenery.products[step["product"] % Scenery.products.count])"
        }
        let time: Int64? =
            switch step["stamp"] {
            case 1: 1
            case 2: Self.clock + 40 * Scenery.day
            default: now
            }
        // The worker uses its own clock if a record's time is in the future or before the purchase.
        submission.judgedAt = step["stamp"] == 0 ? now : nil
        var json = JSONWriter()
        json.beginObject()
        json.member("submission_id", id)
        json.member("player_id", player)
        json.member("bundle_id", bundleID)
        json.name(proof.field)
        if quality == .malformed { json.bool(true) } else { json.string(text) }
        json.member("product_id", ifPresent: submission.hint)
        json.member("app_account_token", ifPresent: submission.token)
        json.endObject()
        let record = Sent(submission: submission, value: json.bytes, time: time)
        sent[step.number] = record
        try await publish(record)
        say(
            step,
            "\(Scenery.name(player)) submits it (\(id), proof \(step["of"])) to \(bundleID)"
                + (submission.hint.map { ", as \($0)" } ?? "")
                + (submission.token.map { ", with \(Scenery.name($0))'s token" } ?? "")
                + (["", ", with a time of 1970", ", with a time ahead"][min(2, step["stamp"])])
                + (quality == .unreadable ? ", unreadable" : "") + (quality == .malformed ? ", malformed" : ""))
    }

    /// Lets many accounts buy, and lets each payer submit the purchase. The many submissions fill a batch, which
    /// a kill can then interrupt. If `of` names an earlier crowd, players submit that crowd's purchases instead.
    /// `player` is the number of places from a purchase's payer to the submitter in the list of players.
    func crowd(_ step: Step) async throws {
        let lines = trace.count
        let token = step["app"] >= 2 ? 1 : 0
        let isNew = step["of"] == 0
        for index in 0..<step["count"] {
            passTime(10)
            let (bought, account) = ((isNew ? step.number : step["of"]) * 1000 + 3 * index, 10 + index)
            if isNew {
                for number in [bought] + (1..<max(1, step["each"])).map({ bought + 100 * $0 }) {
                    try await trade(
                        Step(
                            number, .buy,
                            ["app": step["app"], "account": account, "token": token, "told": step["told"]]))
                }
                take(Step(bought + 1, .take, ["of": bought, "form": index % 2]))
            }
            guard step["silent"] == 0 || step["silent"] == 1 && index % 8 != 7 else { continue }
            try await submit(
                Step(
                    step.number * 1000 + 3 * index + 2, .submit,
                    [
                        "of": bought + 1, "player": (account + step["player"]) % Scenery.players.count, "token": token,
                    ]))
        }
        trace.removeSubrange(lines...)
        let players = step["player"] == 0 ? "they" : "others"
        say(
            step,
            (isNew ? "\(step["count"]) accounts buy gems in \(app(step["app"]).bundleID)" : "crowd \(step["of"])")
                + (step["silent"] == 2 ? "" : ", and \(players) submit them"))
    }

    func sendAgain(_ step: Step) async throws {
        guard let record = sent[step["of"]] else { return }
        try await publish(record)
        say(step, "the game server sends \(record.submission.id) again")
    }

    private func publish(_ record: Sent) async throws {
        var submission = record.submission
        submission.place = try await world.send(
            world.submissions, key: submission.player, value: record.value, time: record.time)
        facts.submissions.append(submission)
    }

    /// Publishes the game server's consumption report about a purchase, with or without the player's consent.
    func report(_ step: Step) async throws {
        guard let id = bought[step["of"]], let purchase = facts.purchases[id] else { return }
        let consent = step["refuses"] == 1 ? #","customer_consented":false"# : ""
        _ = try await world.send(
            world.prefix + "receipt-consumption", key: id,
            value: Array(
                #"{"transaction_id":"\#(id)","bundle_id":"\#(purchase.bundleID)","consumption_percentage":\#(step["percent"])\#(consent)}"#
                    .utf8), time: nil)
        facts.reports[id, default: []].append(
            Facts.Report(percentage: step["percent"], isConsented: step["refuses"] != 1))
        say(step, "the game says that \(step["percent"]) of \(id) is used\(consent.isEmpty ? "" : ", without consent")")
    }

    /// Publishes the game server's record that an account token belongs to a player.
    func bind(_ step: Step) async throws {
        let app = app(step["app"])
        let (token, player) = (Scenery.player(step["token"]), Scenery.player(step["player"]))
        let key = "\(app.bundleID)/\(token)"
        // The model knows only the last record. So the step sends two records only while the workers are idle, and then
        // waits until the worker has read both records.
        let isNew = facts.apps[app.bundleID]?.accounts[token] == nil
        let isCorrected = step["corrected"] == 1 && isNew ? await isIdle() : false
        for each in (isCorrected ? [Scenery.player(step["player"] + 1)] : []) + [player] {
            let place = try await world.send(
                world.prefix + "player-accounts", key: key, value: Array(#"{"player_id":"\#(each)"}"#.utf8), time: nil)
            if isCorrected, each == player { await until(seconds: 6) { try await world.hasAccount(from: place) } }
        }
        facts.apps[app.bundleID]?.accounts[token, default: []].insert(player)
        say(step, "the game says that \(Scenery.name(token))'s token in \(app.bundleID) is \(Scenery.name(player))'s")
    }
}
