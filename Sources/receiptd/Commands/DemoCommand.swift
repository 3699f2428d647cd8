import Administration
import ArgumentParser
import Foundation
import Synchronization

#if Demo
    import Demo
#endif

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs sample purchases through the worker. Needs no broker, database or Apple account.",
        discussion: """
            The demo never connects to a broker or database that only the environment names. In a broker or database that \
            you name with --kafka or --database, it creates topics and a schema of its own. It removes them at the end, \
            even after Ctrl-C.
            """)

    @Option(help: ArgumentHelp("Run the sample cases of this folder, not the built-in ones.", valueName: "folder"))
    var seeds: String?
    @Option(
        help: ArgumentHelp("Use this Kafka broker, with KAFKA_PROPERTIES from the environment.", valueName: "host:port")
    )
    var kafka: String?
    @Option(help: ArgumentHelp("Use this PostgreSQL database.", valueName: "uri")) var database: String?
    @Flag(help: "Keep the worker's log and print its path.") var keepLog = false
    @Flag(help: "Run simulated traffic, the worker's page and the console until Ctrl-C.") var live = false
    @Flag(help: "List every case, not only those with an unexpected outcome.") var all = false

    func run() async throws {
        try await reporting {
            #if Demo
                try await runDemo()
            #else
                throw CommandFailure(
                    """
                    this receiptd was built without the demo, like the receiptd in the worker's image: build receiptd \
                    with the package trait Demo
                    """, code: CommandFailure.unavailable)
            #endif
        }
    }
}

#if Demo
    extension DemoCommand {
        private func runDemo() async throws {
            let environment = ProcessInfo.processInfo.environment
            // libpq would apply `PG…` variables to every connection.
            for name in environment.keys where name.hasPrefix("PG") { unsetenv(name) }
            let parts = DemoParts(kafka: kafka, database: database)
            if let note = parts.note(on: environment) { printLine(Array(note.utf8)) }
            let progress = Mutex(ProgressBar("submissions answered"))
            let demo = DemoRun(
                seeds: seeds.map { .folder($0) } ?? .builtIn, given: parts.environment(from: environment),
                keepsLog: keepLog,
                listener: .init(
                    line: { printLine(Array($0.utf8)) },
                    progress: { done, total in
                        progress.withLock { bar in
                            bar.show(done, of: total)
                            if done == total { bar.end() }
                        }
                    }))
            do {
                if live { return try await untilSignal { try await demo.runLive() } }
                let report = try await untilSignal { try await demo.run() }
                print(
                    report.text(
                        .init(width: Terminal.outputWidth, hasColors: Terminal.outputHasColors, listsAll: all)))
                guard report.isAsExpected else {
                    throw CommandFailure("\nSome outcomes are not as their cases expect.", code: 1)
                }
                print("\nEvery outcome is as its case expects." + (all ? "" : " List them with --all."))
            } catch let fault as SeedCase.Fault {
                throw CommandFailure(fault.description, code: 1)
            } catch let missing as DemoSeeds.Missing {
                throw CommandFailure(
                    "no sample cases in \(missing.folder): name another folder with --seeds", code: 64)
            }
        }
    }
#endif
