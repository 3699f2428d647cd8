import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Simulated outages and recoveries of Apple")
struct AppleSimulationTests {
    @Test("after random outages, the circuit closes soon and Apple answers every submission; no limit is ever exceeded")
    func randomSchedules() {
        // `LIMITS_SEED` repeats a run.
        let seed = getenv("LIMITS_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        for number in 0..<200 {
            var simulation = AppleSimulation(seed: random.next())
            do { try simulation.run() } catch {
                Issue.record("\(error): schedule \(number) of seed \(seed) (repeat it by LIMITS_SEED=\(seed))")
                return
            }
        }
    }
}
