import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Pipeline

/// Tests how much of the window retrying submissions may hold, and when parked rows are woken.
extension ParkingTests {
    @Test("submissions that wait for a retry hold at most half of the window's bytes")
    func retryShareInBytes() {
        let slots = WorkSlots(maximumInFlight: 2_000, appleConcurrency: 10)
        #expect(slots.beginRetrying(bytes: IntakeWindow.maximumBytes / 2))
        #expect(!slots.beginRetrying(bytes: 1))
        #expect(slots.beginRetrying(bytes: 0))
        slots.endRetrying(bytes: IntakeWindow.maximumBytes / 2)
        #expect(slots.beginRetrying(bytes: 1))
    }

    @Test("at its third failure, a submission is parked if it and the submissions behind it fill over half the window")
    func behindOthers() async throws {
        try await with(ParkingBench(maximumInFlight: 10, parkAfterSeconds: 30)) { bench in
            let item = bench.item(ParkingBench.submission("a"))
            let retries = RetryState(of: item, in: bench.parking)
            defer { retries.end() }
            bench.outage.begin()
            func isParked() -> Bool {
                if case .park = retries.next(after: .undecided(.init(.timeout)), now: .distantTest) {
                    true
                } else {
                    false
                }
            }
            for _ in 0..<4 { bench.parking.slots.waitingBehindOthers(of: "player-1", bytes: 0) }
            // These four submissions wait behind a submission of player 2 that is at its first try.
            for _ in 0..<4 { bench.parking.slots.waitingBehindOthers(of: "player-2", bytes: 0) }
            #expect(bench.parking.slots.held.records == 0)
            #expect(!isParked())
            #expect(bench.parking.slots.held.records == 5)
            bench.parking.slots.waitingBehindOthers(of: "player-1", bytes: 0)
            #expect(!isParked(), "its second failure may be a passing fault")
            #expect(isParked())
            #expect(bench.parking.slots.held.records == 5)
            // A submission with a verdict no longer counts as retrying while the worker records it.
            retries.end()
            #expect(bench.parking.slots.held.records == 0)
        }
    }

    @Test("a submission's wait behind its player's others counts towards parking, even after only one try")
    func failsBehindOthers() async throws {
        try await with(ParkingBench(retry: RetryDelay(initialSeconds: 0.001), parkAfterSeconds: 30)) { bench in
            let item = bench.item(ParkingBench.submission("a"))
            item.noteBehindOthers(seconds: 31)
            try await bench.work(on: item)
            #expect(bench.apple.asked.count == 1)
            #expect(bench.store.content.parked.map(\.history.failures) == [1])
        }
    }

    @Test(
        "if retries hold half of the window during Apple's outage, the worker parks a submission at its first failure")
    func noRoomInOutage() async throws {
        try await with(ParkingBench(maximumInFlight: 2, parkAfterSeconds: 30)) { bench in
            bench.outage.begin()
            #expect(bench.parking.slots.beginRetrying())
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(bench.store.content.parked.count == 1)
        }
    }

    @Test(
        "Apple's first answer after a failure wakes the app's parked rows; the end of Apple's outage wakes every app's")
    func recovery() async throws {
        try await with(ParkingBench(parkAfterSeconds: 30)) { bench in
            let source = bench.parkedSource()
            let itsOwn: Set<BundleID>? = [ParkingBench.bundle]
            func wake() async throws { _ = try await source.leaseDue(limit: 1) }
            bench.apple.answer(ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            try await wake()
            #expect(bench.store.wokenTroubled.isEmpty)
            bench.apple.answer(.trouble(.init(.timeout)), ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("b"), offset: 2))
            try await wake()
            try await wake()
            #expect(bench.store.wokenTroubled == [itsOwn])
            bench.outage.begin()
            try await wake()
            bench.outage.end()
            try await wake()
            #expect(bench.store.wokenTroubled == [itsOwn, nil])
        }
    }
}
