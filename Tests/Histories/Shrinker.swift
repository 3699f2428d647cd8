import Foundation
import HistoryModel

/// Shortens a history that fails. It removes steps and then choices, as long as the history still breaks one of the
/// rules that it broke at first.
struct Shrinker {
    let ground: Ground
    /// The seconds after which the shrinker stops, and returns the shortest history so far.
    var seconds = 240.0
    /// The number of histories that are played at the same time. A larger number slows all of them down, and hides
    /// faults that depend on a moment.
    let width: Int

    func shrink(_ history: History, rules: Set<Difference.Rule>) async -> History {
        let end = Date.now.addingTimeInterval(seconds)
        var best = history
        var chunk = max(1, best.steps.count / 2)
        while Date.now < end {
            let tries = stride(from: 0, to: best.steps.count, by: chunk).map { start in
                var shorter = best
                shorter.steps.removeSubrange(start..<min(start + chunk, best.steps.count))
                return shorter
            }
            if let found = await first(of: tries, rules, until: end) {
                best = found
                chunk = min(chunk, max(1, best.steps.count / 2))
            } else if chunk > 1 {
                chunk /= 2
            } else {
                break
            }
        }
        while let found = await first(of: lowered(best), rules, until: end) { best = found }
        return best
    }

    private func lowered(_ history: History) -> [History] {
        history.steps.indices.flatMap { index in
            history.steps[index].choices.filter { $0.value != 0 && $0.key != "of" }.keys.sorted().map { name in
                var lower = history
                lower.steps[index].choices[name] = nil
                return lower
            }
        }
    }

    /// Returns the first of `tries` that still fails; nil if none does. Plays each history at most twice.
    private func first(of tries: [History], _ rules: Set<Difference.Rule>, until end: Date) async -> History? {
        for start in stride(from: 0, to: tries.count, by: width) where Date.now < end {
            let batch = Array(tries[start..<min(start + width, tries.count)])
            let failed = await withTaskGroup(of: Int?.self) { [ground] group in
                for (index, history) in batch.enumerated() {
                    group.addTask {
                        for _ in 0..<2 where Date.now < end {
                            let outcome = await history.play(on: ground, patience: 3)
                            if !rules.isDisjoint(with: outcome.differences.map(\.rule)) { return index }
                        }
                        return nil
                    }
                }
                return await group.reduce(into: [Int]()) { all, one in all += one.map { [$0] } ?? [] }.min()
            }
            if let failed { return batch[failed] }
        }
        return nil
    }
}
