import ArgumentParser
import Foundation
import HistoryModel

/// Plays histories on the real worker and judges them by the contract.
@main
struct Histories: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "histories", abstract: "Plays random and kept histories on the real worker.")

    struct Draw: ParsableArguments {
        @Option(help: "The number of random histories.")
        var count = 100
        @Option(help: "The seed of the random histories. Without it, the program chooses a seed.")
        var seed: UInt64?
        @Option(help: "Skip the first FROM random histories of the seed.")
        var from = 0
        @Option(help: "Start no further random history after this many seconds.")
        var seconds = 86_400.0
        @Option(help: "Use only these features, separated by commas. Feature.swift lists the features.")
        var features: String?
        @Flag(help: "Print the random histories, and play none.")
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
    @Option(help: "The number of histories that run at the same time.")
    var width = 8
    @Option(help: "The path of the receiptd to test. Without it, the program uses the receiptd in its own folder.")
    var program: String?
    @Option(help: "A folder of kept histories, or one file. The program plays them first.")
    var kept: String?
    @Option(help: "The folder for histories that fail. Without it, the program only prints them.")
    var keep: String?
    @Option(help: "The address of a real Kafka. Without it, the program uses librdkafka's in-process broker.")
    var kafka: String?
    @Option(
        help: """
            If the worker differs from the model in a random history, play the history again, up to AGAIN times. The \
            history fails only if the worker differs again. With 0 the history fails immediately.
            """)
    var again = 0
    @Option(help: "The number of failed histories that the program shrinks, so that fewer steps remain.")
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
