import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import Kafka
import TestSupport
import Testing

@testable import Demo

@Suite("Parked submissions, end to end", .wholeSystem)
struct ParkingTests {
    @Test(
        "a worker parks a submission that Apple cannot answer; the next worker grants the purchase once Apple answers"
    )
    func outlivesTheWorker() async throws {
        try await ParkingBed.run { bed in
            let receipt = ParkingBed.receipt("7001")
            bed.apple.register(receiptData: receipt, behaviour: [.status(21005).times(1_000_000)])
            var worker = try bed.startWorker()
            try await bed.submit("p-parked", receipt)
            try await bed.until("the submission is parked") { try await bed.waits("p-parked", .appleTrouble) }
            try await bed.submit("p-other", ParkingBed.receipt("7002"))
            try await bed.until("another is granted") { bed.answers("p-other") == ["receipt.granted"] }
            #expect(bed.answers("p-parked").isEmpty)
            await bed.kill(worker)
            #expect(try await bed.number("SELECT count(*) FROM parked") == 1)
            bed.apple.register(receiptData: receipt, behaviour: nil)
            worker = try bed.startWorker()
            // If the dead worker had leased the row, the lease must end first.
            try await bed.until("it is granted") { bed.answers("p-parked") == ["receipt.granted"] }
            try await bed.until("its row is gone") { try await bed.number("SELECT count(*) FROM parked") == 0 }
            #expect(try await bed.number("SELECT count(*) FROM grants WHERE transaction_id = '7001'") == 1)
            worker.terminate()
            let code = try await blocking { [worker] in worker.wait() }
            #expect(code == 0)
            #expect(bed.answers("p-parked") == ["receipt.granted"])
        }
    }

    @Test(
        "workers stop trying a parked submission that kills workers, until an operator retries the submission",
        .takesLong)
    func poison() async throws {
        try await ParkingBed.run { bed in
            let receipts = ["7051", "7052", "7053"].map { ParkingBed.receipt($0) }
            let players = ["p-poison", "p-beside-1", "p-beside-2"]
            for receipt in receipts {
                bed.apple.register(receiptData: receipt, behaviour: [.status(21005).times(1_000_000)])
            }
            let first = try bed.startWorker()
            for (player, receipt) in zip(players, receipts) { try await bed.submit(player, receipt) }
            try await bed.until("all are parked") {
                try await bed.number("SELECT count(*) FROM parked WHERE reason = 'apple_trouble'") == 3
            }
            // The worker commits its offsets before it stops. So the next workers die of the parked row, not of the
            // record.
            await first.stop()
            for receipt in receipts { bed.apple.register(receiptData: receipt, behaviour: nil) }
            var worker = try bed.startWorker(["RECEIPTD_CRASH_ON_SUBMISSION": "p-poison"])
            var deaths = 0
            try await bed.until("it is set aside, and what was beside it is granted") {
                if !worker.isRunning {
                    deaths += 1
                    // The update ends the lease now, instead of in a minute.
                    _ = try await bed.number(
                        """
                        WITH freed AS (UPDATE parked SET leased_until = now() - interval '1 second'
                            WHERE leased_until IS NOT NULL RETURNING id) SELECT count(*) FROM freed
                        """)
                    worker = try bed.startWorker(["RECEIPTD_CRASH_ON_SUBMISSION": "p-poison"])
                }
                guard bed.answers("p-beside-1") + bed.answers("p-beside-2") == ["receipt.granted", "receipt.granted"]
                else { return false }
                return try await bed.waits("p-poison", .crashed)
            }
            #expect((5...8).contains(deaths), "\(deaths) deaths")
            #expect(worker.isRunning)
            #expect(bed.answers("p-poison").isEmpty)
            let listed = try await bed.parked("list", "--reason", "crashed")
            #expect(listed.output.contains("p-poison") && listed.output.contains("3 workers died"))
            await bed.kill(worker)
            _ = try bed.startWorker()
            #expect(try await bed.parked("retry", "p-poison").code == 0)
            try await bed.until("it is granted") { bed.answers("p-poison") == ["receipt.granted"] }
        }
    }

    @Test("a worker believes a doubtful answer of Apple's at the third try, even if a restart comes between the tries")
    func doubtOverRestart() async throws {
        try await ParkingBed.run { bed in
            let receipt = ParkingBed.receipt("7101")
            bed.apple.register(receiptData: receipt, behaviour: [.status(21002).times(1_000_000)])
            let slow = ["RETRY_DOUBT_SECONDS": "6"]
            let worker = try bed.startWorker(slow)
            try await bed.submit("p-doubt", receipt)
            try await bed.until("the doubt is parked") { try await bed.waits("p-doubt", .doubt) }
            await bed.kill(worker)
            _ = try bed.startWorker(slow)
            try await bed.until("it is believed") { bed.answers("p-doubt") == ["receipt.rejected malformed_receipt"] }
            #expect(bed.apple.requests(receiptData: receipt) >= Judge.triesInDoubt)
            try await bed.until("its row is gone") { try await bed.number("SELECT count(*) FROM parked") == 0 }
        }
    }

    @Test("while Apple refuses an app's shared secret, this app's submissions are parked, and delay no other purchases")
    func blockedApp() async throws {
        try await ParkingBed.run { bed in
            // The worker has fewer places than the blocked app has submissions.
            _ = try bed.startWorker(DemoRun.settings(signing: Seeds.signing).merging(["MAX_IN_FLIGHT": "10"]) { $1 })
            // Only answers about proven receipts show that credentials are wrong.
            let blocked = (0..<30).map { ParkingBed.provenReceipt("72\(100 + $0)", bundle: ParkingBed.club) }
            for receipt in blocked {
                bed.apple.register(receiptData: receipt, behaviour: [.status(21004).times(1_000_000)])
            }
            for (index, receipt) in blocked.enumerated() {
                try await bed.submit("p-club-\(index)", receipt, bundle: ParkingBed.club)
            }
            try await bed.submit("p-castle", ParkingBed.receipt("7299"))
            try await bed.until("the other app is granted") { bed.answers("p-castle") == ["receipt.granted"] }
            try await bed.until("all of the app's are parked") {
                try await bed.number("SELECT count(*) FROM parked WHERE reason = 'blocked_shared_secret'") == 30
            }
            for receipt in blocked { bed.apple.register(receiptData: receipt, behaviour: nil) }
            let retried = try await bed.parked("retry", "--all", "--bundle", ParkingBed.club)
            #expect(retried.code == 0, "\(retried)")
            try await bed.until("nothing is parked any more") {
                try await bed.number("SELECT count(*) FROM parked") == 0
            }
            try await bed.until("each has its answer") {
                blocked.indices.allSatisfy { bed.answers("p-club-\($0)").count == 1 }
            }
        }
    }

    @Test("an operator lists, retries and rejects parked submissions by command, and PostgreSQL stores the changes")
    func commands() async throws {
        try await ParkingBed.run { bed in
            let receipts = ["7301", "7302"].map { ParkingBed.receipt($0) }
            for receipt in receipts {
                bed.apple.register(receiptData: receipt, behaviour: [.status(21002).times(1_000_000)])
            }
            #expect(try await bed.parked("list").output == "nothing is parked\n")
            _ = try bed.startWorker(["RETRY_DOUBT_SECONDS": "600000"])
            try await bed.submit("p-retried", receipts[0])
            try await bed.submit("p-rejected", receipts[1])
            try await bed.until("both are parked") {
                let both = try await (bed.waits("p-retried", .doubt), bed.waits("p-rejected", .doubt))
                return both.0 && both.1
            }
            let table = try await bed.parked("list")
            #expect(table.code == 0 && table.output.contains("p-retried") && table.output.contains("malformed_receipt"))
            let document = try await bed.parked("list", "--json", "--reason", "doubt").output
            #expect(try JSONParser.parse(Array(document.utf8)).value["parked"]?.array?.count == 2)
            #expect(try await bed.parked("list", "--bundle", "none").output == "nothing is parked\n")

            bed.apple.register(receiptData: receipts[0], behaviour: nil)
            let retried = try await bed.parked("retry", "p-retried", "--operator", "ann")
            #expect(retried.code == 0 && retried.output.hasPrefix("1 due"), "\(retried)")
            try await bed.until("the retried one is granted") { bed.answers("p-retried") == ["receipt.granted"] }

            let unasked = try await bed.parked("reject", "--all")
            #expect(unasked.code == 64 && unasked.errors.contains("reject 1 parked submissions"), "\(unasked)")
            for verb in ["retry", "reject"] {
                let tried = try await bed.parked(verb, "--all", "--dry-run")
                #expect(tried.code == 0 && tried.output.hasPrefix("1 would be"), "\(tried)")
            }
            let other = try await bed.parked("reject", "--all", "--bundle", "none", "--yes", "--operator", "ann")
            #expect(other.code == 0 && other.output.hasPrefix("0 rejected"), "\(other)")
            #expect(try await bed.waits("p-rejected", .doubt))
            let rejected = try await bed.parked("reject", "--all", "--yes", "--limit", "5")
            #expect(rejected.code == 0 && rejected.output.hasPrefix("1 rejected"), "\(rejected)")
            try await bed.until("the rejection is published") {
                bed.answers("p-rejected") == ["receipt.rejected refused_by_operator"]
            }
            let again = try await bed.parked("reject", "p-rejected")
            #expect(again.code == 1 && again.errors.contains("is not parked"), "\(again)")
            #expect(try await bed.number("SELECT count(*) FROM parked") == 0)
            let told =
                "SELECT concat_ws('|', operator, change, subject, shown, result) FROM console_changes ORDER BY id"
            #expect(
                try await bed.rows(told) == [
                    "ann|retry|p-retried|1|1 due now", "ann|reject-parked|app none|0|0 rejected",
                    "\(NSUserName())|reject-parked|all|1|1 rejected",
                ])

            #expect(try await bed.parked("retry").code == 64)
            #expect(try await bed.parked("reject", "p-rejected", "--all").code == 64)
            #expect(try await bed.parked("retry", "p-rejected", "--bundle", "x").code == 64)
            #expect(try await bed.parked("list", "--reason", "none").code == 64)
        }
    }

    @Test("if parked submissions of two players share a submission id, `parked reject` needs --player to choose one")
    func sharedID() async throws {
        try await ParkingBed.run { bed in
            let receipts = ["7401", "7402"].map { ParkingBed.receipt($0) }
            for receipt in receipts {
                bed.apple.register(receiptData: receipt, behaviour: [.status(21002).times(1_000_000)])
            }
            _ = try bed.startWorker(["RETRY_DOUBT_SECONDS": "600000"])
            try await bed.submit("p-same", receipts[0], player: "p-one")
            try await bed.submit("p-same", receipts[1], player: "p-two")
            try await bed.until("both are parked") {
                let both = try await (bed.waits("p-one", .doubt), bed.waits("p-two", .doubt))
                return both.0 && both.1
            }
            let refused = try await bed.parked("reject", "p-same")
            #expect(refused.code == 64 && refused.errors.contains("\"p-one\", \"p-two\""), "\(refused)")
            let retried = try await bed.parked("retry", "p-same", "--player", "p-one")
            #expect(retried.code == 0 && retried.output.hasPrefix("1 due"), "\(retried)")
            let rejected = try await bed.parked("reject", "p-same", "--player", "p-two")
            #expect(rejected.code == 0 && rejected.output.hasPrefix("1 rejected"), "\(rejected)")
            try await bed.until("the rejection is published") {
                bed.answers("p-two") == ["receipt.rejected refused_by_operator"]
            }
            #expect(try await bed.waits("p-one", .doubt) && bed.answers("p-one").isEmpty)
        }
    }
}
