import Testing

@Suite("A partition's life, simulated")
struct PartitionSimulationTests {
    @Test(
        "through crashes, revocations, zombies and redelivery, what is committed is decided, everything is decided in the end, each player's in order"
    )
    func randomSchedules() { simulate(isDatabaseTroubled: false) }

    @Test(
        "through databases that are put back, and fail-overs that leave old sessions alive, everything is decided in the end"
    )
    func troubledDatabases() { simulate(isDatabaseTroubled: true) }

    private func simulate(isDatabaseTroubled: Bool) {
        let seed = freshSeed()
        var random = SeededRandom(seed: seed)
        for number in 0..<1000 {
            var simulation = PartitionSimulation(seed: random.next(), isDatabaseTroubled: isDatabaseTroubled)
            do { try simulation.run() } catch {
                Issue.record("\(error): schedule \(number) of seed \(seed) (repeat it by PIPELINE_SEED=\(seed))")
                return
            }
        }
    }
}
