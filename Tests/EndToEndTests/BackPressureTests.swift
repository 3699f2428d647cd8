import AppStoreSimulation
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("while Apple hangs, the worker pauses at MAX_IN_FLIGHT submissions; later the worker answers all submissions")
    func backPressure() async throws {
        let plan = Plan.genuine(count: 400, players: 400)
        try await Testbed.run(settings: ["MAX_IN_FLIGHT": "50", "LOG_LEVEL": "debug"]) { bed in
            let worker = try bed.startWorker()
            try await bed.apple.setOutage(.hang)
            try await bed.submit(plan.records)
            var highest = 0.0
            try await eventually("consumption pauses") {
                let scrape = try await worker.scrape()
                highest = max(highest, scrape["receiptd_in_flight"] ?? 0)
                return scrape["receiptd_paused"] == 1 && highest > 0
            }
            // A request times out after a second, so the worker repeats its requests about the submissions in memory
            // meanwhile.
            for _ in 0..<10 {
                highest = max(highest, try await worker.scrape()["receiptd_in_flight"] ?? 0)
                try await last(.milliseconds(200))
            }
            #expect((1...50).contains(highest))
            #expect(try await worker.get("/readyz").status == 200)
            #expect(bed.apple.counters.maximumConcurrentRequests <= 50)
            #expect(bed.outcomes.content.events.isEmpty)
            try await bed.apple.setOutage(nil)
            try await bed.settle(plan)
            #expect(bed.apple.counters.maximumConcurrentRequests <= 50)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
            try await eventually("consumption goes on") { try await worker.scrape()["receiptd_paused"] == 0 }
        }
    }

    /// The outbox has no limit of its own. But a record keeps its place in memory until Kafka acknowledges its events.
    /// A partition's new owner takes no record before it has published the last owner's events. So each worker's death
    /// adds at most one window, and only for partitions without unpublished events.
    @Test(
        "if Kafka takes no events, about MAX_IN_FLIGHT wait in the outbox; a new worker adds to no partition's backlog",
        .onlyInProcessBroker)
    func stuckOutbox() async throws {
        let plan = Plan.genuine(count: 400, players: 400)
        let window = 50
        try await Testbed.run(settings: ["MAX_IN_FLIGHT": "\(window)"]) { bed in
            let broker = try #require(bed.parts.broker)
            func setLeader(_ id: Int32) {
                for partition in 0..<bed.parts.partitionCount {
                    broker.setPartitionLeader(topic: bed.parts.outcomesTopic, partition: partition, broker: id)
                }
            }
            func owed() async throws -> Int64 {
                try await bed.query("SELECT count(*) FROM outbox") { $0.int8(0, 0) ?? -1 }
            }
            /// Returns the number of unpublished events of each partition.
            func debts() async throws -> [Int64: Int64] {
                let statement = "SELECT source_partition, count(*) FROM outbox GROUP BY 1"
                return try await bed.query(statement) { rows in
                    var debts: [Int64: Int64] = [:]
                    for row in 0..<rows.count { debts[rows.int4(row, 0) ?? -1] = rows.int8(row, 1) }
                    return debts
                }
            }
            setLeader(-1)
            var worker = try bed.startWorker()
            try await bed.submit(plan.records)
            try await eventually("consumption pauses") { try await worker.scrape()["receiptd_paused"] == 1 }
            try await eventually("a window of events waits") { try await owed() >= window }
            let most = Int64(window) + Int64(bed.parts.partitionCount)
            #expect(try await owed() <= most)
            try await worker.kill()
            let before = try await debts()
            worker = try bed.startWorker()
            try await eventually("the next one has the partitions") { worker.log.contains("partitions assigned") }
            for _ in 0..<10 {
                #expect(try await owed() <= 2 * most)
                let now = try await debts()
                #expect(before.allSatisfy { now[$0.key, default: 0] <= $0.value })
                try await last(.milliseconds(200))
            }
            #expect(bed.outcomes.content.events.isEmpty)
            setLeader(1)
            try await bed.settle(plan)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
        }
    }

    @Test("if Apple never answers about a receipt, the worker still answers all other players of the partition")
    func slowPlayer() async throws {
        let plan = Plan.genuine(count: 300, players: 100)
        let slow = plan.records[0]
        let receipt = try #require(slow.receipt)
        try await Testbed.run { bed in
            bed.apple.register(receiptData: receipt, behaviour: [.hang])
            try bed.startWorker()
            try await bed.submit(plan.records, partition: 0)
            let others = Set(plan.records.filter { $0.playerID != slow.playerID }.compactMap(\.submissionID))
            try await bed.outcomes.until("the others are answered") { others.isSubset(of: $0.answers.keys) }
            #expect(bed.outcomes.content.answers[slow.submissionID ?? "-"] == nil)
            let committed = try await bed.committedOffsets()[0]
            #expect((committed?.committed ?? 0) == 0, "the first record is undecided")
            bed.apple.register(receiptData: receipt, behaviour: nil)
            try await bed.settle(plan)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
        }
    }
}

extension Plan {
    /// Returns a plan with only genuine purchases, which the players make in turn.
    static func genuine(count: Int, players: Int, product: String = Receipts.gems) -> Plan {
        var plan = Plan()
        for number in 0..<count {
            plan.addGenuine(number, player: "player-\(number % players)", product: product)
        }
        return plan
    }

    mutating func addGenuine(
        _ number: Int, player: String, product: String = Receipts.gems, behaviour: SimulatedBehaviour? = nil
    ) {
        let transaction = "9\(1_000_000 + number)"
        let receipt = Receipts.single(transaction, product: product, behaviour: behaviour)
        let id = "genuine-\(number)"
        truths[id] = .always(.granted(transaction))
        certainGrants.insert(transaction)
        records.append(
            PlannedRecord(
                key: Array(player.utf8),
                value: Array(
                    #"{"submission_id":"\#(id)","player_id":"\#(player)","bundle_id":"\#(Receipts.castle)","receipt_data":"\#(receipt)"}"#
                        .utf8),
                submissionID: id, playerID: player, receipt: receipt))
    }
}
