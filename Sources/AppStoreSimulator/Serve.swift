import AppStoreSimulation
import ArgumentParser
import Dispatch
import Foundation

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serve until SIGTERM or SIGINT (the default).")

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 lets the system choose.")
    var port = 8990

    @Option(help: "A fixed latency in milliseconds.")
    var latencyMs: Double?

    @Option(help: "A log-normal latency as median,sigma[,cap] in milliseconds, for instance 40,0.5,2000.")
    var latency: LatencyArgument?

    @Option(
        help: """
            Files of {\"receipt_data\":…,\"behaviour\":[…]} and \
            {\"transaction_id\":…,\"signed_transaction_info\":…,\"behaviour\":[…]} objects or arrays of them.
            """)
    var register: [String] = []

    @Option(help: "Where to write the port once it listens.")
    var portFile: String?

    @Option(help: "Event-loop threads.")
    var threads = 1

    @Option(help: "Seed of latencies and error rates.")
    var seed: UInt64 = 1

    @Option(help: "Requests kept for GET /control/log.")
    var logCapacity = 0

    @Flag(help: "Count distinct receipts.")
    var trackReceipts = false

    @Option(help: "A shared secret as bundle=secret; a wrong password is answered 21004.")
    var sharedSecret: [String] = []

    @Option(
        help: "An app's key for the App Store Server API as bundle=PEM file; without any, no signature is looked at.")
    var serverApiKey: [String] = []

    func validate() throws {
        if latencyMs != nil, latency != nil {
            throw ValidationError("--latency-ms and --latency exclude each other")
        }
    }

    func run() async throws {
        let registrations = try register.flatMap { try Self.registrations(file: $0) }
        var options = AppStoreSimulation.Options()
        options.threads = threads
        options.seed = seed
        options.logCapacity = logCapacity
        options.trackReceipts = trackReceipts
        for pair in sharedSecret {
            guard let equals = pair.firstIndex(of: "=") else {
                throw ValidationError("--shared-secret takes bundle=secret")
            }
            options.sharedSecrets[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
        }
        for pair in serverApiKey {
            guard let equals = pair.firstIndex(of: "=") else {
                throw ValidationError("--server-api-key takes bundle=file")
            }
            let file = URL(fileURLWithPath: String(pair[pair.index(after: equals)...]))
            options.serverAPIKeys[String(pair[..<equals])] = try SimulatedServerAPIKey(
                pem: String(contentsOf: file, encoding: .utf8))
        }
        // Before the first line is printed, so that whoever reads it may send a signal at once.
        let signals = TerminationSignals()
        let apple = try await AppStoreSimulation.start(
            host: host, port: port, latency: latency?.latency ?? .fixed(latencyMs ?? 0), options: options)
        for registration in registrations {
            apple.register(registration)
        }
        if let portFile { try Data("\(apple.port)\n".utf8).write(to: URL(fileURLWithPath: portFile), options: .atomic) }
        say("production \(apple.productionURL)\nsandbox    \(apple.sandboxURL)\n")
        say("server API \(apple.serverAPIProductionURL) and \(apple.serverAPISandboxURL)\n")
        await signals.first()
        try await apple.shutdown()
        say("stopped\n")
    }

    /// Unbuffered: the reader may be a pipe.
    private func say(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    private static func registrations(file: String) throws -> [SimulatedArrangement] {
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        let decoder = JSONDecoder()
        let isArray = data.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "[")
        return isArray
            ? try decoder.decode([SimulatedArrangement].self, from: data)
            : [try decoder.decode(SimulatedArrangement.self, from: data)]
    }
}

/// `median,sigma[,cap]`
struct LatencyArgument: ExpressibleByArgument {
    var latency: SimulatedLatency

    init?(argument: String) {
        let numbers = argument.split(separator: ",").map { Double($0) }
        guard numbers.count == 2 || numbers.count == 3, let median = numbers[0], let sigma = numbers[1] else {
            return nil
        }
        guard numbers.count == 3 else {
            latency = .logNormal(median: median, sigma: sigma)
            return
        }
        guard let cap = numbers[2] else { return nil }
        latency = .logNormal(median: median, sigma: sigma, cap: cap)
    }
}
