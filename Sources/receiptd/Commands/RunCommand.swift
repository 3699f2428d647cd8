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
            // It would also keep what a backlog took: freed fetches of megabytes go back to the system at once.
            mallopt(M_MMAP_THRESHOLD, 128 * 1024)
            mallopt(M_TRIM_THRESHOLD, 1024 * 1024)
            let settings = try options.read(requiring: [.kafka, .database])
            let logger = settings.makeLogger()
            for (name, value) in settings.redactedSummary {
                logger.debug("setting", [.setting: "\(name)", .value: "\(value)"])
            }
            try await WorkerRunner(settings: settings, secrets: options.secrets, logger: logger).run()
        }
    }
}
