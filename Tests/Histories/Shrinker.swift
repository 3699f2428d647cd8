import HistoryModel

/// Makes a history that fails shorter, by leaving choices out and lowering them, as long as it still breaks the same rule.
struct Shrinker {
    let ground: Ground
    /// How many histories may be played for it.
    var budget = 160
    /// Played side by side.
    let width: Int

    func shrink(_ history: History, rules: Set<Difference.Rule>) async -> History {
        var best = history
        var played = 0
        var chunk = max(1, best.steps.count / 2)
        while played < budget {
            var tries: [History] = []
            var start = 0
            while start < best.steps.count {
                var shorter = best
                shorter.steps.removeSubrange(start..<min(start + chunk, best.steps.count))
                tries.append(shorter)
                start += chunk
            }
            if let found = await first(of: tries, rules, &played) {
                best = found
                chunk = min(chunk, max(1, best.steps.count / 2))
                continue
            }
            guard chunk > 1 else { break }
            chunk = max(1, chunk / 2)
        }
        var progress = true
        while progress, played < budget {
            progress = false
            if let found = await first(of: lowered(best), rules, &played) {
                best = found
                progress = true
            }
        }
        return best
    }

    private func lowered(_ history: History) -> [History] {
        var tries: [History] = []
        for (index, step) in history.steps.enumerated() {
            for (name, value) in step.choices.sorted(by: { $0.key < $1.key }) where value != 0 && name != "of" {
                var lower = history
                lower.steps[index].choices[name] = nil
                tries.append(lower)
            }
        }
        if history.world["slow"] != nil {
            var lower = history
            lower.world["slow"] = nil
            tries.append(lower)
        }
        return tries
    }

    /// The first, in their order, that still fails.
    private func first(
        of tries: [History], _ rules: Set<Difference.Rule>, _ played: inout Int
    ) async -> History? {
        var rest = tries[...]
        while !rest.isEmpty, played < budget {
            let batch = Array(rest.prefix(width))
            rest = rest.dropFirst(width)
            played += batch.count
            let failed = await withTaskGroup(of: (Int, Bool).self) { group in
                for (index, history) in batch.enumerated() {
                    group.addTask { [ground] in
                        let outcome = await history.play(on: ground, patience: 3)
                        return (index, !rules.isDisjoint(with: outcome.differences.map(\.rule)))
                    }
                }
                var failed: [Int] = []
                for await (index, isFailing) in group where isFailing { failed.append(index) }
                return failed.min()
            }
            if let failed { return batch[failed] }
        }
        return nil
    }
}
