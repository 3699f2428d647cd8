import Fulfillment
import TestSupport
import Testing

@testable import Pipeline

@Suite("The catalog in force at Apple's answer")
struct NewestCatalogTests {
    @Test("the worker judges Apple's answer by the catalog in force when the answer arrives")
    func retiredMeanwhile() async throws {
        let bench = try PipelineBench()
        bench.verifier.hold("waiting")
        let running = try bench.start()
        try await bench.submit("waiting", player: "waiting", partition: 0)
        try await bench.untilAsked("waiting")
        var app = AppPolicy(bundleID: Sample.bundle)
        var retired = Product(id: Sample.product, kind: .consumable)
        retired.isRetired = true
        app.products = [Sample.product: retired]
        let newest = Catalog(version: 2, apps: [app])
        bench.catalog.update { $0 = newest }
        bench.verifier.release("waiting")
        try await bench.untilAnswered("waiting", ["held waiting"])
        #expect(bench.verifier.count("waiting") == 1)
        try await running.stop()
        try await bench.close()
    }
}
