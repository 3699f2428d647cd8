import ArgumentParser
import Foundation
import HistoryModel

/// Plays histories on the real worker and judges them by the contract.
@main
struct Histories: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "histories", abstract: "Plays drawn histories, and kept ones, on the real worker.")

    struct Draw: ParsableArguments {
        @Option(help: "How many are drawn.")
        var count = 100
        @Option(help: "Of the draw; none: a new one.")
        var seed: UInt64?
        @Option(help: "Begin at this number of the draw.")
        var from = 0
        @Option(help: "Seconds after which nothing more is drawn.")
        var seconds = 86_400.0
        @Option(help: "Draw from these features only, comma separated; see Feature.swift.")
        var features: String?
        @Flag(help: "Print what is drawn, and play nothing.")
        var dry = false

        func generator(seed: UInt64) throws -> Generator {
            guard let features else { return Generator(seed: seed) }
            return Generator(
                seed: seed,
                pool: try features.split(separator: ",").map { name in
                    guard let feature = Feature(rawValue: String(name)) else {
                        throw ValidationError("no feature: \(name)")
                    }
                    return feature
                })
        }
    }

    @OptionGroup var draw: Draw
    @Option(help: "Histories side by side.")
    var width = 8
    @Option(help: "The receiptd to play them on; none: the one that was built beside this program.")
    var program: String?
    @Option(help: "A folder of kept histories, or one file, to be played first.")
    var kept: String?
    @Option(help: "Where those that fail are written; none: they are only printed.")
    var keep: String?
    @Option(help: "Brokers; none: librdkafka's in-process broker.")
    var kafka: String?
    @Option(
        help: """
            How often a drawn history that differs is played again. It fails the run only if it differs again. With 0 it \
            fails the run at once.
            """)
    var again = 0
    @Option(help: "How many of those that fail are shrunk.")
    var shrink = 3
    @Flag(help: "Shrink kept histories that fail, too.")
    var shrinkKept = false
    @Flag(help: "Keep the workers' logs.")
    var logs = false
    @Option(help: .hidden)
    var broker: String?

    static let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path

    mutating func run() async throws {
        if let broker { return try await BrokerProcess.serve(prefix: broker) }
        let seed = draw.seed ?? UInt64.random(in: 1...999_999)
        if draw.dry {
            var generator = try draw.generator(seed: seed)
            for number in 0..<(draw.from + draw.count) {
                let history = generator.next()
                if number >= draw.from { say("# \(seed)/\(number)\n\(history.text)") }
            }
            return
        }
        let path =
            program
            ?? URL(fileURLWithPath: Self.path).deletingLastPathComponent().appendingPathComponent("receiptd").path
        let ground = try await Ground(program: path, bootstrapServers: kafka)
        let session = try Session(ground: ground, seed: seed, options: self)
        let failed: Int
        do {
            failed = try await session.run()
        } catch {
            await ground.close()
            throw error
        }
        await ground.close()
        if failed > 0 { throw ExitCode(1) }
    }
}

/// Writes a line to standard output without a buffer, so that a reader of the output file sees it at once.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
