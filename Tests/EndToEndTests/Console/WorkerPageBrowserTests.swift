import AppStoreSimulation
import Foundation
import TestSupport
import Testing

@testable import Demo

@Suite("The worker's page in a browser", .serialized, .wholeSystem)
struct WorkerPageBrowserTests {
    @Test("the worker's page fits two widths, light and dark, without accessibility faults or requests to other hosts")
    func looks() async throws {
        let plan = TrafficGenerator.plan(seed: 15, count: 400)
        try await Testbed.run(latency: .uniform(5, 50)) { bed in
            let worker = try bed.startWorker()
            try await bed.submit(plan.records)
            try await bed.settle(plan)
            let page = "http://127.0.0.1:\(try await worker.port())"
            for (width, isDark) in [(1_200, false), (1_200, true), (390, false), (390, true)] {
                let kind = "\(width)\(isDark ? "-dark" : "")"
                try await Browser.run(width: width, isDark: isDark) { browser in
                    try await browser.open(page + "/")
                    #expect(try await browser.graveFaults() == [], "at \(kind)")
                    #expect(try #require(try await browser.contentWidth) <= width, "at \(kind)")
                    #expect(try await browser.text("#state").hasPrefix("Ready"))
                    #expect(try #require(try await browser.requests).allSatisfy { $0.hasPrefix(page) })
                    try await browser.picture("worker-\(kind)")
                }
            }
        }
    }

    @Test("the worker's page shows new counts without a reload, and says when the worker no longer answers")
    func followsTheWorker() async throws {
        try await Self.withPage { bed, worker, browser in
            _ = try await browser.evaluate("window.isTheSame = true")
            try await Self.grantFive(in: bed, shownBy: browser)
            #expect(try await browser.evaluate("return window.isTheSame") as? Bool == true, "it was loaded anew")
            try await worker.kill()
            try await eventually("the page says that nobody answers") {
                try await browser.text("#state").hasPrefix("No answer")
            }
        }
    }

    @Test("without JavaScript the worker's page has the current numbers when it opens, and reloads by itself")
    func withoutScripts() async throws {
        try await Self.withPage(width: 390, runsScripts: false) { bed, _, browser in
            #expect(try await browser.text("#state").hasPrefix("Ready"))
            #expect(try await browser.text("h2") == "Submissions by class")
            #expect(try await browser.text("main").contains("0 in all"))
            try await Self.grantFive(in: bed, shownBy: browser)
            #expect(try await browser.text(".tables").contains(bed.parts.submissionsTopic))
        }
    }

    private static func withPage(
        width: Int = 1_200, runsScripts: Bool = true, _ body: (Testbed, Worker, Browser) async throws -> Void
    ) async throws {
        try await Testbed.run { bed in
            let worker = try bed.startWorker()
            let page = "http://127.0.0.1:\(try await worker.port())/"
            try await eventually("ready") { await worker.isReady() }
            try await Browser.run(width: width, runsScripts: runsScripts) { browser in
                try await browser.open(page)
                try await body(bed, worker, browser)
            }
        }
    }

    private static func grantFive(in bed: Testbed, shownBy browser: Browser) async throws {
        let plan = Plan.genuine(count: 5, players: 5)
        try await bed.submit(plan.records)
        try await bed.settle(plan)
        try await eventually("the page counts them") {
            // While the page reloads it has no `main` element.
            await (try? browser.text("main"))?.contains("5 in all") ?? false
        }
    }
}
