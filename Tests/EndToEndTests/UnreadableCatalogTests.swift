import Foundation
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test(
        "if the newest catalog is unreadable, running workers keep the previous catalog, and new workers stay unready"
    )
    func unreadableCatalog() async throws {
        try await Testbed.run { bed in
            let worker = try bed.startWorker()
            try await eventually("ready") { await worker.isReady() }
            // This simulates a catalog that a newer release imported, and that this release cannot read.
            try await bed.run("INSERT INTO catalogs (document, sha256) VALUES ('apps: none', sha256('apps: none'))")
            let words = "this release cannot read catalog version"
            try await eventually("/readyz names it, and says ready") {
                let answer = try await worker.get("/readyz")
                return answer.status == 200 && answer.body.contains(words)
            }
            try await eventually("it is looked at again") {
                try await worker.scrape()[#"receiptd_failures_total{part="catalog"}"#] ?? 0 >= 3
            }
            #expect(try await worker.scrape()[#"receiptd_failing{part="catalog"}"#] == 1)
            let told = worker.log.split(separator: "\n").count { $0.contains("cannot read the newest catalog") }
            #expect(told == 1)
            let check = try await Program.run(["check"], environment: bed.environment())
            #expect(check.code == 78 && check.output.contains("cannot read catalog"), "\(check)")
            #expect(check.output.contains("FAILED  postgresql: "), "\(check)")
            let plan = Plan.genuine(count: 6, players: 6)
            try await bed.submit(plan.records)
            try await bed.settle(plan)
            let late = try bed.startWorker()
            try await eventually("one that starts says why it waits") {
                guard let answer = try? await late.get("/readyz") else { return false }
                return answer.status == 503 && answer.body.contains(words)
            }
            #expect(late.process.isRunning)
            #expect(!late.log.contains("no catalog yet"))
            try await bed.run(
                "INSERT INTO catalogs (document, sha256) SELECT document, sha256 FROM catalogs ORDER BY version LIMIT 1"
            )
            try await eventually("both have the next one, and are ready") {
                let answer = try await worker.get("/readyz")
                guard await late.isReady() else { return false }
                return answer.status == 200 && !answer.body.contains(words)
            }
        }
    }
}
