import ArgumentParser
import CMalloc
import Logging
import Operations

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "The worker, until SIGTERM or SIGINT.")

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        try await reporting {
            // glibc would keep an arena for each thread, most of them half empty.
            mallopt(M_ARENA_MAX, 2)
            let settings = try options.read(requiring: [.kafka, .database])
            let logger = settings.makeLogger()
            for (name, value) in settings.redactedSummary {
                logger.debug("setting", [.setting: "\(name)", .value: "\(value)"])
            }
            try await WorkerRunner(settings: settings, secrets: options.secrets, logger: logger).run()
        }
    }
}
