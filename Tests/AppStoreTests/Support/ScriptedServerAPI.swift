import AppStore
import AppStoreSimulation
import AppleProofs
import Foundation
import Fulfillment
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A client, and an App Store Server API whose answers a test writes.
struct ScriptedServerAPI: Sendable {
    struct Request: Sendable {
        let method: String
        /// The path, `/production/inApps/…` or `/sandbox/inApps/…`, with the query.
        let uri: String
        let headers: [String: String]
        let body: String
    }

    struct Reply: Sendable {
        var status = 200
        var headers: [String: String] = [:]
        var body = ""

        static func code(_ code: Int, status: Int? = nil) -> Reply {
            Reply(
                status: status ?? code / 10_000, body: #"{"errorCode":\#(code),"errorMessage":"for people"}"#)
        }
    }

    typealias Script = @Sendable (Request) throws -> Reply

    let client: ServerAPIClient
    let observer: RecordingObserver
    private let requestList: RequestList

    var requests: [Request] { requestList.list.withLock { $0 } }
    var uris: [String] { requests.map(\.uri) }

    fileprivate final class RequestList: Sendable {
        let list = Mutex<[Request]>([])
    }

    static func context(
        _ environment: StoreEnvironment? = .production, _ share: StoreQueryShare = .submission,
        bundle: BundleID = SimulatedServerAPI.bundle
    ) -> StoreQueryContext {
        StoreQueryContext(
            bundleID: bundle, credentials: SimulatedServerAPI.credentials, environment: environment, share: share)
    }

    static func run(
        limits: AppleLimits? = nil, keys: [String: String]? = nil, clock: SteppedWallClock? = nil,
        _ script: @escaping Script,
        _ body: (ScriptedServerAPI) async throws -> Void
    ) async throws {
        let requests = RequestList()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
                    try channel.pipeline.syncOperations.addHandler(Replying(requests: requests, script: script))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let url = "http://127.0.0.1:\(listener.localAddress?.port ?? 0)"
        let observer = RecordingObserver()
        let known = try keys ?? ["KEY": SimulatedServerAPI.file("server-api-key.pem")]
        let client = try ServerAPIClient(
            settings: AppleSettings(
                serverAPIProductionURL: "\(url)/production", serverAPISandboxURL: "\(url)/sandbox", timeoutSeconds: 30),
            secrets: { known[$0] }, proofs: try SimulatedServerAPI.proofs.get(), limits: limits, observer: observer,
            now: clock?.read)
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await body(ScriptedServerAPI(client: client, observer: observer, requestList: requests)))
        } catch {
            result = .failure(error)
        }
        await client.shutdown()
        try await group.shutdownGracefully()
        try result.get()
    }

    private final class Replying: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let requests: RequestList
        private let script: Script
        private var head: HTTPRequestHead?
        private var body = ""

        init(requests: RequestList, script: @escaping Script) {
            self.requests = requests
            self.script = script
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = ""
            case .body(let part): body += String(buffer: part)
            case .end:
                guard let head else { return }
                let request = Request(
                    method: head.method.rawValue, uri: head.uri,
                    headers: Dictionary(
                        head.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first }),
                    body: body)
                requests.list.withLock { $0.append(request) }
                let reply = (try? script(request)) ?? Reply(status: 500)
                var headers = HTTPHeaders(reply.headers.map { ($0.key, $0.value) })
                headers.replaceOrAdd(name: "content-length", value: "\(reply.body.utf8.count)")
                let start = HTTPResponseHead(
                    version: .http1_1, status: .init(statusCode: reply.status), headers: headers)
                context.write(wrapOutboundOut(.head(start)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: reply.body)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}

/// Signs data as Apple does, with the keys of the seeds.
enum SignedByApple {
    static func transaction(
        _ id: String, original: String? = nil, environment: String = "Production",
        bundle: BundleID = SimulatedServerAPI.bundle, type: String = "Auto-Renewable Subscription", more: String = ""
    ) throws -> String {
        try SimulatedServerAPI.signer.get().signedTransaction(
            claims: """
                {"transactionId":"\(id)","originalTransactionId":"\(original ?? id)","bundleId":"\(bundle)",\
                "productId":"pass","purchaseDate":1777629600000,"expiresDate":1780308000000,\
                "signedDate":1777629605000,"quantity":1,"type":"\(type)","environment":"\(environment)",\
                "subscriptionGroupIdentifier":"205"\(more)}
                """)
    }

    static func renewal(of original: String, environment: String = "Production", more: String = "") throws -> String {
        try SimulatedServerAPI.signer.get().signedTransaction(
            claims: """
                {"originalTransactionId":"\(original)","autoRenewProductId":"pass","productId":"pass",\
                "autoRenewStatus":1,"signedDate":1777629605000,"environment":"\(environment)"\(more)}
                """)
    }

    /// Returns the JSON of a statuses answer whose single group has these `lastTransactions`.
    static func statuses(_ items: String...) -> String {
        """
        {"environment":"Production","bundleId":"\(SimulatedServerAPI.bundle)","appAppleId":1450000001,\
        "data":[{"subscriptionGroupIdentifier":"205","lastTransactions":[\(items.joined(separator: ","))]}]}
        """
    }

    static func status(_ status: Int, of original: String, transaction: String? = nil, renewal: String? = nil) throws
        -> String
    {
        """
        {"originalTransactionId":"\(original)","status":\(status),\
        "signedTransactionInfo":"\(try transaction ?? self.transaction("\(original)1", original: original))",\
        "signedRenewalInfo":"\(try renewal ?? self.renewal(of: original))"}
        """
    }
}
