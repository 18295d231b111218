#include <memory>

#include <grpcpp/grpcpp.h>

#include <etcd.grpc.pb.h>
#include "test/bench/replication/load.hpp"
#include "test/bench/support/store.hpp"

namespace troupe::bench {

namespace {

class Etcd {
 public:
  Etcd(int port, size_t valueBytes) {
    // Connections of its own, as each thread of the other side has: else all channels of a process share one.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ =
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments);
    keys_ = etcdserverpb::KV::NewStub(channel_);
    RecordMaker maker(valueBytes);
    while (request_.value().size() < valueBytes) request_.mutable_value()->append(maker.text());
    request_.mutable_value()->resize(valueBytes);
  }

  void put(uint64_t number) {
    request_.set_key(RecordMaker::key(number));
    grpc::ClientContext context;
    etcdserverpb::PutResponse response;
    const grpc::Status status = keys_->Put(&context, request_, &response);
    if (!status.ok()) throw BenchError("etcd: " + status.error_message());
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<etcdserverpb::KV::Stub> keys_;
  etcdserverpb::PutRequest request_;
};

}  // namespace

Operation etcdPut(int port, size_t valueBytes) {
  return [etcd = std::make_shared<Etcd>(port, valueBytes)](uint64_t number) { etcd->put(number); };
}

}  // namespace troupe::bench
