import Foundation
import HistoryModel

/// Plays many histories at the same time, and reports their results.
final class Session {
    private struct Named: Sendable {
        let name: String
        let history: History
        let isKept: Bool
    }

    private let ground: Ground
    private let seed: UInt64
    private let options: Histories
    private var generator: Generator
    private var failed: [(named: Named, outcome: Outcome)] = []
    private var played = 0
    private var submissions = 0
    private var troubles = 0
    private var times: [String: Double] = [:]
    private let began = Date.now

    init(ground: Ground, seed: UInt64, options: Histories) throws {
        self.ground = ground
        self.seed = seed
        self.options = options
        generator = try options.draw.generator(seed: seed)
    }

    /// Plays the stored histories and the random ones.
    /// - Returns: the number of histories that differ from the contract.
    func run() async throws -> Int {
        say("histories: seed \(seed), \(options.width) side by side")
        var waiting = try kept()
        for _ in 0..<options.draw.from { _ = generator.next() }
        var drawn = 0
        var ended: [(Named, Outcome)] = []
        let (ground, logs) = (ground, options.logs)
        await withTaskGroup(of: (Named, Outcome).self) { group in
            var running = 0
            while true {
                while running < options.width {
                    var next: Named?
                    if !waiting.isEmpty {
                        next = waiting.removeFirst()
                    } else if drawn < options.draw.count, Date.now.timeIntervalSince(began) < options.draw.seconds {
                        let name = "\(seed)/\(generator.number)"
                        next = Named(name: name, history: generator.next(), isKept: false)
                        drawn += 1
                    }
                    guard let next else { break }
                    running += 1
                    group.addTask { (next, await next.history.play(on: ground, keepsLog: logs)) }
                }
                guard let (named, outcome) = await group.next() else { break }
                running -= 1
                report(named, outcome)
                ended.append((named, outcome))
            }
        }
        await playAgain()
        for (named, outcome) in failed.filter({ !$0.named.isKept || options.shrinkKept }).prefix(options.shrink) {
            await shrink(named, outcome)
        }
        summary()
        return failed.count
    }

    /// Plays each random history with a difference again, one at a time. Drops the history if it shows no difference
    /// again, because on a busy machine lateness alone may cause a difference.
    private func playAgain() async {
        guard options.again > 0 else { return }
        var confirmed: [(named: Named, outcome: Outcome)] = []
        for (named, outcome) in failed {
            var differs = named.isKept
            for _ in 0..<options.again where !differs {
                differs = await named.history.play(on: ground, keepsLog: options.logs).failed
            }
            if differs {
                confirmed.append((named, outcome))
            } else {
                say("? \(named.name) did not differ when it was played again, \(options.again) times")
            }
        }
        failed = confirmed
    }

    private func kept() throws -> [Named] {
        guard let path = options.kept else { return [] }
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        let files =
            isFolder.boolValue
            ? try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".history") }.sorted()
                .map { path + "/" + $0 } : [path]
        return try files.map { file in
            Named(
                name: URL(fileURLWithPath: file).lastPathComponent,
                history: try History(text: String(contentsOfFile: file, encoding: .utf8)), isKept: true)
        }
    }

    private func report(_ named: Named, _ outcome: Outcome) {
        played += 1
        submissions += outcome.submissions
        times.merge(outcome.times, uniquingKeysWith: +)
        if let trouble = outcome.trouble {
            troubles += 1
            say("? \(named.name): \(trouble)")
        }
        let time = String(format: "%.1f s", outcome.seconds)
        guard outcome.failed else {
            if named.isKept || options.logs { say("✔ \(named.name) (\(time))") }
            return
        }
        failed.append((named, outcome))
        let at = String(format: "%.0f s", Date.now.timeIntervalSince(began))
        say("✘ \(named.name) (\(time), \(at) after the start, \(named.history.steps.count) steps)")
        for difference in Set(outcome.differences).sorted(by: { $0.description < $1.description }).prefix(6) {
            say("    \(difference)")
        }
        write(named.history, outcome, as: named.name.replacing("/", with: "-") + ".whole")
    }

    private func shrink(_ named: Named, _ outcome: Outcome) async {
        let start = Date.now
        let short = await Shrinker(ground: ground, width: min(8, options.width)).shrink(
            named.history, rules: Set(outcome.differences.map(\.rule)))
        let again = await short.play(on: ground, keepsLog: options.logs)
        let took = Int(Date.now.timeIntervalSince(start))
        say("\n\(named.name), shrunk from \(named.history.steps.count) to \(short.steps.count) steps in \(took) s:")
        say((again.trace.isEmpty ? outcome.trace : again.trace).joined(separator: "\n"))
        for difference in again.differences.prefix(6) { say("  → \(difference)") }
        say(short.text)
        write(short, again.failed ? again : outcome, as: named.name.replacing("/", with: "-"))
    }

    private func write(_ history: History, _ outcome: Outcome, as name: String) {
        guard let folder = options.keep else { return }
        let comments = outcome.differences.map { "# → \($0)" } + outcome.trace.map { "# \($0)" }
        let text = comments.joined(separator: "\n") + "\n" + history.text
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try? text.write(toFile: "\(folder)/\(name).history", atomically: true, encoding: .utf8)
    }

    private func summary() {
        let seconds = Date.now.timeIntervalSince(began)
        let pairs = generator.met.count
        say(
            """
            \(played) histories, \(submissions) submissions, \(failed.count) with differences, \(troubles) that could not be \
            played; \(pairs) of \(FeaturePair.count) pairs of features met; \(Int(seconds)) s, seed \(seed)
            """)
        let longest = times.sorted { $0.value > $1.value }.prefix(12).map { part, time in
            String(format: "\(part) %.1f", time / Double(max(1, played)))
        }
        say("seconds a history: \(longest.joined(separator: ", "))")
        let rules = Dictionary(grouping: failed.flatMap { one in Set(one.outcome.differences.map(\.rule)) }) { $0 }
        for (rule, all) in rules.sorted(by: { $0.value.count > $1.value.count }) {
            say("  \(all.count) × \(rule.rawValue)")
        }
    }
}
