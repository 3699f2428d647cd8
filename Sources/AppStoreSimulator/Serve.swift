import AppStoreSimulation
import ArgumentParser
import Dispatch
import Foundation

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the simulated App Store until SIGTERM or SIGINT. This is the default command.")

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
            JSON files that say how the simulator answers for a purchase: {\"receipt_data\":…,\"behaviour\":[…]}, \
            {\"transaction_id\":…,\"signed_transaction_info\":…,\"behaviour\":[…]}, or an array of these.
            """)
    var register: [String] = []

    @Option(help: "The file to write the port's number to, once the simulator listens on that port.")
    var portFile: String?

    @Option(help: "The number of event-loop threads.")
    var threads = 1

    @Option(help: "The random seed for latencies and errors.")
    var seed: UInt64 = 1

    @Option(help: "The number of requests to keep for GET /control/log.")
    var logCapacity = 0

    @Flag(help: "Count the different receipts, for GET /control/counters.")
    var trackReceipts = false

    @OptionGroup(title: "Keys and secrets")
    var keys: KeyOptions

    @OptionGroup(title: "Life")
    var life: LifeOptions

    func validate() throws {
        if latencyMs != nil, latency != nil {
            throw ValidationError("give --latency-ms or --latency, not both")
        }
    }

    func run() async throws {
        let registrations = try register.flatMap { try Self.registrations(file: $0) }
        var options = AppStoreSimulation.Options()
        options.threads = threads
        options.seed = seed
        options.logCapacity = logCapacity
        options.trackReceipts = trackReceipts
        try keys.apply(to: &options)
        guard let delivery = life.delivery.make(life, seed: seed) else {
            throw ValidationError("--notify must begin with http://")
        }
        if life.life { options.notified = { delivery.add($0) } }
        // A script may send a signal as soon as it reads the first line. So this code catches signals before it prints
        // that line.
        let signals = TerminationSignals()
        let apple = try await AppStoreSimulation.start(
            host: host, port: port, latency: latency?.latency ?? .fixed(latencyMs ?? 0), options: options)
        for registration in registrations {
            apple.register(registration)
        }
        if let portFile { try Data("\(apple.port)\n".utf8).write(to: URL(fileURLWithPath: portFile), options: .atomic) }
        say("production \(apple.productionURL)\nsandbox    \(apple.sandboxURL)\n")
        say("server API \(apple.serverAPIProductionURL) and \(apple.serverAPISandboxURL)\n")
        if life.life {
            let run = LifeRun(options: life, seed: seed, delivery: delivery, say: say)
            let living = Task {
                do {
                    try await run.run(apple)
                } catch {
                    run.say("the simulation failed: \(error)\n")
                    throw error
                }
            }
            // A signal ends the life, and the life then writes its summary. If the life ends first, the simulation
            // answers requests until a signal.
            await signals.first()
            living.cancel()
            try await living.value
        } else {
            await signals.first()
        }
        try await apple.shutdown()
        say("stopped\n")
    }

    /// Prints a line at once. A buffered line would reach another program behind a pipe too late.
    @Sendable private func say(_ text: String) {
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

/// The value of the option `--latency`: `median,sigma[,cap]`.
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

/// The options for the keys that the simulated App Store accepts, and for the keys with which it signs.
struct KeyOptions: ParsableArguments {
    @Option(help: "An app's shared secret, as bundle=secret. The simulator answers 21004 to any other password.")
    var sharedSecret: [String] = []

    @Option(
        help: """
            An app's key for the App Store Server API, as bundle=PEM file. Without any key, the simulator does not \
            check the signature of a request's token.
            """)
    var serverApiKey: [String] = []

    @Option(
        help: "The folder of the keys and certificates to sign with, such as seeds/signing; unsigned by default.")
    var signWith: String?

    func apply(to options: inout AppStoreSimulation.Options) throws {
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
        options.signer = try signWith.map(SimulatedSigner.init(folder:))
    }
}
