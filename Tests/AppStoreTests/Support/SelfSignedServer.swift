import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// An HTTPS server on this machine with a self-signed certificate. It answers every request with status 21010.
struct SelfSignedServer {
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel

    static func start() async throws -> SelfSignedServer {
        let certificate = try NIOSSLCertificate(bytes: Array(certificatePEM.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(certificate)], privateKey: .privateKey(key)))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answering())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return SelfSignedServer(group: group, listener: listener)
    }

    /// The URL. Its host name is `localhost`, because the certificate is for this name.
    var url: String { "https://localhost:\(listener.localAddress?.port ?? 0)/verifyReceipt" }

    func shutdown() async throws {
        try await listener.close()
        try await group.shutdownGracefully()
    }

    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            let body = ByteBuffer(string: #"{"status":21010}"#)
            let headers: HTTPHeaders = ["content-length": "\(body.readableBytes)"]
            context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: .ok, headers: headers))), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }

    /// A certificate for `localhost` that is valid for a century. Only this test trusts the certificate.
    static let certificatePEM = """
        -----BEGIN CERTIFICATE-----
        MIIBljCCATugAwIBAgIUbihluyqQ6caDg3MMWcxQtV9YzDkwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAwMzQwNloYDzIxMjYxMDI4
        MDAzNDA2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAATcH4FvP86IWxhHBZOE2qgOoUltwc5X3zg4mrskc+EN5HQY5eD1kVaV
        vhcHcf9wR647XpA0f4ZQHNYd98mIsxmIo2kwZzAdBgNVHQ4EFgQUK3XrTU2SpLCr
        C50d2QqTIijwAvgwHwYDVR0jBBgwFoAUK3XrTU2SpLCrC50d2QqTIijwAvgwDwYD
        VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
        SQAwRgIhAKMu1N5QoZiPq0LMgmv9RYnWD7gLPidF7vib+CHEKAlXAiEA5vtes72P
        BMEevcF1VajAuzJ/bYnlrQAuwE2VSTEGNxI=
        -----END CERTIFICATE-----
        """

    private static let keyPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwvtNsxDTH+Q/gAgh
        /+IXT706imNGr+8lDObt4kBoWSKhRANCAATcH4FvP86IWxhHBZOE2qgOoUltwc5X
        3zg4mrskc+EN5HQY5eD1kVaVvhcHcf9wR647XpA0f4ZQHNYd98mIsxmI
        -----END PRIVATE KEY-----
        """
}
