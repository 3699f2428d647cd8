import TestSupport

extension PipelineBench {
    /// Returns when the player's answers are exactly `expected`.
    func untilAnswered(
        _ player: String, _ expected: [String], file: StaticString = #fileID, line: UInt = #line
    ) async throws {
        try await changes.until(
            "the answers to \(player) are \(expected), not \(answers(player)); the log:\n\(lastLines)\n", file: file,
            line: line
        ) {
            answers(player) == expected
        }
    }

    /// Returns when each of the players has `count` answers, repeats included.
    func untilAnswered(
        _ players: [String], count: Int, file: StaticString = #fileID, line: UInt = #line
    ) async throws {
        try await changes.until(
            "\(count) answers to each of \(players), not \(players.map { answers($0).count }); the log:\n\(lastLines)\n",
            file: file, line: line
        ) {
            players.allSatisfy { answers($0).count == count }
        }
    }

    func untilAnswered(
        _ player: String, count: Int, file: StaticString = #fileID, line: UInt = #line
    ) async throws {
        try await untilAnswered([player], count: count, file: file, line: line)
    }

    /// Returns when workers have asked Apple about the receipt once.
    func untilAsked(_ name: String, file: StaticString = #fileID, line: UInt = #line) async throws {
        try await changes.until("Apple is asked about \(name) once", file: file, line: line) {
            verifier.count(name) == 1
        }
    }

    /// Returns once the database and Kafka both have the offset. A signal announces the checkpoint. No signal announces
    /// Kafka's commit, which follows the checkpoint, so the test polls for Kafka's commit.
    func untilCommitted(
        _ offset: Int64, of partition: Int32, file: StaticString = #fileID, line: UInt = #line
    ) async throws {
        try await changes.until(
            "partition \(partition) is checkpointed at \(checkpoints[partition].map { "\($0)" } ?? "-"), and is to be at \(offset)",
            file: file, line: line
        ) {
            checkpoints[partition] == offset
        }
        try await eventually("partition \(partition) is committed at \(offset)", file: file, line: line) {
            try await committed()[partition] == offset && checkpoints[partition] == offset
        }
    }
}
