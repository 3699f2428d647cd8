import AppStoreSimulation
import Foundation
import Fulfillment
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("a record that kills every worker becomes a dead letter, and workers answer all other records", .takesLong)
    func poison() async throws {
        var plan = Plan.genuine(count: 400, players: 60)
        plan.addGenuine(9_999, player: "poisoner")
        let poison = plan.records.removeLast()
        plan.records.insert(poison, at: 150)
        plan.truths["genuine-9999"] = nil
        plan.certainGrants.remove("91009999")
        plan.deadLetters["poisoner"] = "crashed"
        let settings = ["RECEIPTD_CRASH_ON_SUBMISSION": "genuine-9999"]
        try await Testbed.run(latency: .uniform(1, 30), settings: settings) { bed in
            let deaths = try await answer(plan, on: bed)
            #expect(deaths >= 6 && deaths <= 11, "\(deaths) deaths")
            expectNone(try await Checker(bed: bed, plan: plan).problems())
            let letter = try #require(bed.outcomes.content.deadLetters.first)
            #expect(letter.value == poison.value && letter.key == poison.key)
            let detail = letter.headers.last { $0.name == "dead-letter-detail" }?.value
            // After three deaths a worker reads the record a last time to park the submission, and dies too.
            #expect(String(decoding: detail ?? [], as: UTF8.self).contains("died 4 times"))
            #expect(bed.outcomes.events(of: "genuine-9999").isEmpty)
            // Workers process later records in parallel, and do not die.
            var more = Plan()
            for number in 500..<540 { more.addGenuine(number, player: "later-\(number)") }
            try await bed.submit(more.records)
            try await bed.settle(more)
            #expect(bed.allWorkers.count { $0.process.isRunning } == 2)
        }
    }

    @Test(
        "if three workers die with a record in isolation, a last try follows an hour later, and can grant the purchase",
        .takesLong)
    func innocentOfThreeDeaths() async throws {
        var plan = Plan()
        plan.addGenuine(1, player: "accused")
        try await Testbed.run { bed in
            try await bed.submit(plan.records)
            // Three workers die without isolating the record, and three more with the record in isolation.
            for _ in 0..<6 {
                let worker = try bed.startWorker(["RECEIPTD_CRASH_ON_SUBMISSION": "genuine-1"])
                #expect(try await worker.ending() == -SIGKILL)
            }
            try bed.startWorker()
            let waiting = """
                SELECT count(*) FROM parked WHERE reason = 'crashed' AND due_at > now() + interval '50 minutes'
                """
            try await eventually("it waits for its last try") {
                let isParked = try await bed.query(waiting) { $0.int8(0, 0) } == 1
                return isParked || !bed.outcomes.content.deadLetters.isEmpty
            }
            #expect(bed.outcomes.content.deadLetters.isEmpty)
            #expect(bed.outcomes.events(of: "genuine-1").isEmpty)
            let due = "WITH due AS (UPDATE parked SET due_at = now() RETURNING id) SELECT count(*) FROM due"
            #expect(try await bed.query(due) { $0.int8(0, 0) } == 1)
            try await bed.settle(plan)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
        }
    }

    @Test(
        "if workers are killed four times without progress, the next worker answers all records, without a dead letter",
        .takesLong)
    func killedWithoutProgress() async throws {
        let plan = Plan.genuine(count: 120, players: 30)
        try await Testbed.run { bed in
            try await bed.apple.setOutage(.hang)
            try await bed.submit(plan.records)
            for round in 0..<5 {
                let worker = try bed.startWorker()
                try await eventually("records are under way, round \(round)") {
                    guard worker.log.contains("partitions assigned") else { return false }
                    return try await (worker.scrape()["receiptd_in_flight"] ?? 0) > 0
                }
                // Only the fourth worker isolates a record, so at most one death counts against a record. The test does
                // not kill the fifth worker.
                if round == 4 { break }
                try await worker.kill()
            }
            try await bed.apple.setOutage(nil)
            try await bed.settle(plan)
            #expect(bed.outcomes.content.deadLetters.isEmpty)
            #expect(bed.allWorkers.last?.log.contains("the worker takes records one at a time") ?? false)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
        }
    }

    @Test(
        "if workers are killed while a record waits for its next try, the record does not become a dead letter",
        .takesLong)
    func killedWhileItWaits() async throws {
        var plan = Plan()
        plan.addGenuine(1, player: "doubted", behaviour: [.status(21002).times(1_000_000)])
        plan.truths["genuine-1"] = .always(.rejected("malformed_receipt"))
        plan.certainGrants.removeAll()
        let receipt = try #require(plan.records[0].receipt)
        try await Testbed.run(settings: ["RETRY_DOUBT_SECONDS": "20"]) { bed in
            try await bed.submit(plan.records)
            // If these deaths counted, the seventh worker would make the record a dead letter, after three deaths
            // without isolation and three deaths in isolation.
            for round in 0..<7 {
                let before = bed.apple.requests(receiptData: receipt)
                let worker = try bed.startWorker()
                var isParked = false
                try await eventually("it is asked for or parked, round \(round)") {
                    isParked = try await bed.query("SELECT count(*) FROM parked") { $0.int8(0, 0) } == 1
                    return isParked || bed.apple.requests(receiptData: receipt) > before
                        || !bed.outcomes.content.deadLetters.isEmpty
                }
                try await last(.milliseconds(200))
                try await worker.kill()
                if isParked { break }
            }
            #expect(bed.outcomes.content.deadLetters.isEmpty)
            try bed.startWorker()
            try await bed.settle(plan)
            #expect(bed.outcomes.content.deadLetters.isEmpty)
        }
    }

    @Test(
        "if nine workers are killed while Apple hangs, the next worker grants the purchases, without a dead letter",
        .takesLong)
    func killedWhileAppleIsSlow() async throws {
        let plan = Plan.genuine(count: 4, players: 4)
        let receipts = plan.records.compactMap(\.receipt)
        try await Testbed.run { bed in
            try await bed.apple.setOutage(.hang)
            try await bed.submit(plan.records)
            func asked() -> Int { receipts.reduce(0) { $0 + bed.apple.requests(receiptData: $1) } }
            // Three workers die with all records in flight. Each later worker dies with one record in isolation. Three
            // such deaths would make the record a dead letter. But these deaths do not count against the record,
            // because the record waits for Apple.
            for round in 0..<9 {
                let before = asked()
                let worker = try bed.startWorker()
                try await eventually("Apple is asked, round \(round)") {
                    asked() > before || !bed.outcomes.content.deadLetters.isEmpty
                }
                try await worker.kill()
            }
            #expect(bed.outcomes.content.deadLetters.isEmpty)
            #expect(bed.allWorkers.last?.log.contains("the worker takes records one at a time") ?? false)
            try await bed.apple.setOutage(nil)
            try bed.startWorker()
            try await bed.settle(plan)
            #expect(bed.outcomes.content.deadLetters.isEmpty)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
        }
    }

    /// Starts a new worker after each death, until every record is answered. Returns the number of deaths.
    private func answer(_ plan: Plan, on bed: Testbed) async throws -> Int {
        try await bed.submit(plan.records)
        var workers = [try bed.startWorker(), try bed.startWorker()]
        var deaths = 0
        try await eventually("all is answered, or set aside", within: .seconds(240)) {
            for index in workers.indices where !workers[index].process.isRunning {
                let ending = try await workers[index].ending()
                #expect(ending == -SIGKILL)
                deaths += 1
                workers[index] = try bed.startWorker()
            }
            return bed.isAnswered(plan)
        }
        try await bed.settle(plan)
        return deaths
    }
}
