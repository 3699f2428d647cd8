import Foundation
import PlantedFaults
import Testing

extension Chaos {
    @Test(
        "if a fault is planted in a worker, the chaos checks report an invariant that this fault should break",
        .enabled(if: Order.isWhole, "minutes long"))
    func plantedFaults() async throws {
        let wanted = Order.environment["CHAOS_PLANTED"].map { name in
            PlantedFault.allCases.filter { $0.rawValue == name }
        }
        try await each(of: wanted ?? PlantedFault.allCases) { fault in
            let scene = PlantedScenario(fault: fault)
            let found = try await scene.evidence(isPlanted: true).judged().filter { !$0.problems.isEmpty }
            for verdict in found { print("chaos: \(fault.rawValue): \(verdict)") }
            #expect(
                !scene.broken.isDisjoint(with: found.map(\.invariant)), "\(fault.rawValue) was not found: \(found)")
        }
    }

    @Test(
        "if no fault is planted, the worker breaks no invariant in the scenarios of the planted faults",
        .enabled(if: Order.isWhole, "minutes long")
    )
    func soundScenes() async throws {
        try await each(of: PlantedFault.allCases) { fault in
            let found = try await PlantedScenario(fault: fault).evidence(isPlanted: false).judged()
                .filter { !$0.problems.isEmpty }
            #expect(found.isEmpty, "the scene of \(fault.rawValue): \(found)")
        }
    }

    /// Runs three scenes at a time, because each scene mostly waits for its consumer group.
    private func each(
        of faults: [PlantedFault], _ body: @escaping @Sendable (PlantedFault) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var waiting = faults[...]
            for _ in 0..<3 {
                if let fault = waiting.popFirst() { group.addTask { try await body(fault) } }
            }
            while try await group.next() != nil {
                if let fault = waiting.popFirst() { group.addTask { try await body(fault) } }
            }
        }
    }
}
