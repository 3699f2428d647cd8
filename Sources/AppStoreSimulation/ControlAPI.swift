import Foundation
import NIOCore
import NIOHTTP1

/// The HTTP interface that controls the simulation, with JSON in and out. It is for tools and tests, and not fast.
///
/// - `GET /healthz`
/// - `GET /control/counters`, `GET /control/log`
/// - `POST /control/reset`: resets everything but the latency; `{"counters_only":true}` keeps faults and behaviours
/// - `POST /control/latency`: see `SimulatedLatency`
/// - `POST /control/outage`: `{"kind":"hang","endpoint":"sandbox","duration_ms":5000}`; a request without `kind` ends
///   the outage; `refuse` needs a duration, because it closes this API too
/// - `POST /control/error-rate`: `{"rate":0.1,"endpoint":"production","step":"reset"}`
/// - `POST /control/behaviour`: `{"endpoint":"production","behaviour":[…]}`; a request without `behaviour` removes the
///   earlier behaviour. With `"api":"history"` the behaviour is for that endpoint of the App Store Server API
///   (`SimulatedEndpoint`). With `"id":"…"` as well, the behaviour is only for that id
/// - `POST /control/register`: `{"receipt_data":"…","behaviour":[…]}`; a request without `behaviour` removes the
///   earlier behaviour. For the App Store Server API:
///   `{"transaction_id":"…","signed_transaction_info":"…","behaviour":[…]}`; without the JWS, the simulation answers
///   that it does not find the transaction
struct ControlAPI: Sendable {
    struct Reply {
        var status: Int
        var body: [UInt8]
        /// The closure to call after the reply was handed to the connection; nil for none.
        var afterwards: (@Sendable () -> Void)?

        static let done = Reply(status: 200, body: Array("{\"ok\":true}".utf8))

        static func problem(_ status: Int, _ text: String) -> Reply {
            Reply(status: status, body: (try? Array(JSONEncoder().encode(["error": text]))) ?? [])
        }
    }

    let service: VerifyReceiptService
    let outages: OutageSwitch

    func answer(_ method: HTTPMethod, _ uri: String, _ body: ByteBuffer) -> Reply {
        do {
            switch (method, uri.prefix { $0 != "?" }) {
            case (.GET, "/healthz"): return .done
            case (.GET, "/control/counters"): return try json(service.update { $0.tally.snapshot })
            case (.GET, "/control/log"): return try json(service.update { $0.tally.log.all })
            case (.POST, "/control/reset"): return try reset(body)
            case (.POST, "/control/latency"):
                let latency = try decode(SimulatedLatency.self, body)
                service.update { $0.latency = latency }
                return .done
            case (.POST, "/control/outage"): return try outage(body)
            case (.POST, "/control/error-rate"): return try errorRate(body)
            case (.POST, "/control/behaviour"):
                let request = try decode(EndpointBehaviour.self, body)
                service.update {
                    $0.set(request.behaviour, of: request.api, id: request.id, endpoint: request.endpoint)
                }
                return .done
            case (.POST, "/control/register"):
                switch try decode(SimulatedArrangement.self, body) {
                case .receipt(let request):
                    let receipt = ReceiptHash.hash(request.receiptData)
                    service.update { $0.register(request.behaviour, receipt: receipt) }
                case .transaction(let transaction): service.update { $0.register(transaction) }
                }
                return .done
            case (.GET, _), (.POST, _):
                return try answerOfStore(method == .POST, uri, body) ?? .problem(404, "no such path or method")
            default: return .problem(404, "no such path or method")
            }
        } catch {
            return .problem(400, "\(error)")
        }
    }

    private func reset(_ body: ByteBuffer) throws -> Reply {
        struct Request: Decodable {
            var isCountersOnly: Bool?
            enum CodingKeys: String, CodingKey { case isCountersOnly = "counters_only" }
        }
        let isCountersOnly = body.readableBytes > 0 ? try decode(Request.self, body).isCountersOnly : false
        if isCountersOnly == true {
            service.update { $0.resetCounters() }
        } else {
            // The call also opens the listener that an outage closed.
            outages.set(nil, endpoint: nil)
            service.update { $0.resetAll() }
        }
        return .done
    }

    private func outage(_ body: ByteBuffer) throws -> Reply {
        struct Request: Decodable {
            var kind: SimulatedOutage?
            var endpoint: SimulatedEnvironment?
            var duration: Int64?
            enum CodingKeys: String, CodingKey {
                case kind
                case endpoint
                case duration = "duration_ms"
            }
        }
        let request = try decode(Request.self, body)
        if request.kind == .refuse, request.duration == nil {
            return .problem(
                400, "refuse needs duration_ms, because the simulator then also refuses connections to /control")
        }
        let kind = request.kind
        let endpoint = request.endpoint
        let duration = request.duration
        var reply = Reply.done
        if kind == .refuse {
            reply.afterwards = { [outages] in outages.set(kind, endpoint: endpoint, durationMilliseconds: duration) }
        } else {
            outages.set(kind, endpoint: endpoint, durationMilliseconds: duration)
        }
        return reply
    }

    private func errorRate(_ body: ByteBuffer) throws -> Reply {
        struct Request: Decodable {
            var rate: Double
            var endpoint: SimulatedEnvironment?
            var step: SimulatedStep?
        }
        let request = try decode(Request.self, body)
        let rate = SimulationState.ErrorRate(probability: request.rate, step: request.step ?? .status(21005))
        service.update { $0.errorRates.set(rate, endpoint: request.endpoint) }
        return .done
    }

    private struct EndpointBehaviour: Decodable {
        var endpoint: SimulatedEnvironment?
        var api: SimulatedEndpoint?
        var id: String?
        var behaviour: SimulatedBehaviour?
    }

    func json(_ value: some Encodable) throws -> Reply {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Reply(status: 200, body: Array(try encoder.encode(value)))
    }

    func decode<Value: Decodable>(_ type: Value.Type, _ body: ByteBuffer) throws -> Value {
        try JSONDecoder().decode(type, from: Data(body.readableBytesView))
    }
}

/// The behaviour for one exact `receipt-data`, in the form of arrangement files and of `POST /control/register`.
public struct SimulatedRegistration: Sendable, Hashable, Codable {
    public var receiptData: String
    /// The behaviour for the receipt; nil removes an earlier behaviour.
    public var behaviour: SimulatedBehaviour?

    public init(receiptData: String, behaviour: SimulatedBehaviour?) {
        self.receiptData = receiptData
        self.behaviour = behaviour
    }

    enum CodingKeys: String, CodingKey {
        case receiptData = "receipt_data"
        case behaviour
    }
}
