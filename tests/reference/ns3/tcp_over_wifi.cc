// TCP over one 802.11 cell behind a wire, in ns-3.37: the jobs of compare.py.
//
// A server, a wire, an access point, and a station, to which the server sends one file. The program prints one JSON
// object: goodput, what the sender did, frames on the air, and the station's energy with the time that its PHY spent in
// each state. The energy model has 1 V, so that currents are powers in watts.
//
// It leaves out: rate control (constant rates), frame aggregation, RTS, other stations, losses other than
// collisions and full buffers, and power save.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/energy-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <iostream>
#include <map>
#include <string>

using namespace ns3;

namespace
{

struct Options
{
    std::string standard{"802.11a"};
    bool qos{false};
    std::string dataMode{"OfdmRate54Mbps"};
    uint32_t cwMin{15};
    uint32_t cwMax{1023};
    uint32_t aifsn{2};
    Time txop{0};
    std::string down{"100Mbps"};
    std::string up{"100Mbps"};
    Time delay{MilliSeconds(10)};
    uint32_t wireQueue{1000};
    uint32_t buffer{100};
    uint64_t bytes{5000000};
    std::string tcp{"TcpNewReno"};
    bool sack{false};
    bool prr{false};
    bool limitedTransmit{true};
    uint32_t delayedAcks{2};
    Time delayedAckTimeout{MilliSeconds(500)};
    uint32_t receiveWindow{131072};
    uint32_t initialWindow{10};
    Time minRto{MilliSeconds(200)};
    double transmitW{2.0};
    double receiveW{1.5};
    double idleW{0.39};
    double ccaBusyW{0.39};
    Time hostDelay{0};
    uint32_t seed{1};
    std::string pcap;
};

/// What is measured of the flow.
struct Flow
{
    Time start;
    uint64_t received{0};
    Time finished{0};
    uint64_t segments{0};
    uint64_t retransmitted{0};
    uint64_t timeouts{0};
    uint64_t recoveries{0};
    SequenceNumber32 next{0};
};

/// What is measured of the station's radio, between the start and the end of its flow.
struct Radio
{
    Ptr<WifiRadioEnergyModel> energy;
    std::map<std::string, double> stateS;
    double headerS{0};    ///< Preambles and PHY headers of received frames.
    double detectionS{0}; ///< The part of them before the PHY has detected the preamble.
    double energyJ{0};
};

Options g_options;
Flow g_flow;
Radio g_radio;
std::map<std::string, uint64_t> g_frames;

bool Measuring()
{
    return Simulator::Now() >= g_flow.start && g_flow.finished.IsZero();
}

void Received(Ptr<const Packet> packet, const Address&)
{
    g_flow.received += packet->GetSize();
    if (g_flow.received >= g_options.bytes)
    {
        g_flow.finished = Simulator::Now();
        g_radio.energyJ = g_radio.energy->GetTotalEnergyConsumption() - g_radio.energyJ;
        Simulator::Stop();
    }
}

void Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    g_flow.segments += 1;
    g_flow.retransmitted += header.GetSequenceNumber() < g_flow.next;
    g_flow.next = std::max(g_flow.next, header.GetSequenceNumber() + packet->GetSize());
}

void Congestion(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    g_flow.timeouts += now == TcpSocketState::CA_LOSS;
    g_flow.recoveries += now == TcpSocketState::CA_RECOVERY;
}

/// The socket of a bulk application exists once the application has started.
void Watch(Ptr<BulkSendApplication> application)
{
    Ptr<Socket> socket = application->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&Sent));
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&Congestion));
}

void State(Time start, Time duration, WifiPhyState state)
{
    // A transmission is reported when it begins, everything else when it has ended.
    const Time begin = std::max(start, g_flow.start);
    const Time end = start + duration;
    if (Measuring() && begin < end)
    {
        std::ostringstream name;
        name << state;
        g_radio.stateS[name.str()] += (end - begin).GetSeconds();
    }
}

void PayloadBegins(WifiTxVector vector, Time)
{
    if (Measuring())
    {
        g_radio.headerS += WifiPhy::CalculatePhyPreambleAndHeaderDuration(vector).GetSeconds();
        g_radio.detectionS += WifiPhy::GetPreambleDetectionDuration().GetSeconds();
    }
}

void Transmitted(std::string sender, WifiConstPsduMap psdus, WifiTxVector, double)
{
    const WifiMacHeader& header = psdus.begin()->second->GetHeader(0);
    if (!Measuring())
    {
        return;
    }
    const char* kind = header.IsCfEnd()    ? "cf_end"
                       : header.IsBeacon() ? "beacon"
                       : header.IsAck()    ? "ack"
                       : header.IsData()   ? (header.IsRetry() ? "retry" : "data")
                                           : "other";
    g_frames[sender + "_" + kind] += 1;
}

void Dropped(std::string sender, WifiMacDropReason, Ptr<const WifiMpdu>)
{
    g_frames[sender + "_dropped"] += 1;
}

void Defaults(const Options& o)
{
    RngSeedManager::SetRun(o.seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + o.tcp)));
    const std::string recovery = o.prr ? "ns3::TcpPrrRecovery" : "ns3::TcpClassicRecovery";
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName(recovery)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(o.limitedTransmit));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(o.minRto));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(o.initialWindow));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(o.delayedAcks));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(o.delayedAckTimeout));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(o.receiveWindow));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(std::max(4000000u, 2 * o.receiveWindow)));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));
}

/// The access point's or the station's medium access, with its queue.
void SetUpAccess(const Options& o, Ptr<WifiNetDevice> device, uint32_t queue, const std::string& sender)
{
    PointerValue pointer;
    device->GetMac()->GetAttribute(o.qos ? "BE_Txop" : "Txop", pointer);
    Ptr<Txop> txop = pointer.Get<Txop>();
    txop->SetMinCw(o.cwMin);
    txop->SetMaxCw(o.cwMax);
    txop->SetAifsn(o.aifsn);
    txop->SetTxopLimit(o.txop);
    txop->GetWifiMacQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, queue));
    device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeBoundCallback(&Transmitted, sender));
    device->GetMac()->TraceConnectWithoutContext("DroppedMpdu", MakeBoundCallback(&Dropped, sender));
}

NetDeviceContainer Cell(const Options& o, Ptr<Node> accessPoint, Ptr<Node> station)
{
    WifiHelper wifi;
    wifi.SetStandard(o.standard == "802.11n" ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue(o.dataMode),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.SetPcapDataLinkType(WifiPhyHelper::DLT_IEEE802_11_RADIO);
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));
    if (o.standard == "802.11n")
    {
        phy.Set("Antennas", UintegerValue(2));
        phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(2));
        phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(2));
    }
    const Ssid ssid("cell");
    WifiMacHelper mac;
    const auto noAggregation = [&](const std::string& type) {
        mac.SetType(type, "Ssid", SsidValue(ssid), "QosSupported", BooleanValue(o.qos),
                    "BE_MaxAmpduSize", UintegerValue(0), "BE_MaxAmsduSize", UintegerValue(0));
    };
    noAggregation("ns3::ApWifiMac");
    NetDeviceContainer devices = wifi.Install(phy, mac, accessPoint);
    devices.Get(0)->GetObject<WifiNetDevice>()->GetMac()->SetAttribute("BeaconInterval", TimeValue(MicroSeconds(102400)));
    noAggregation("ns3::StaWifiMac");
    devices.Add(wifi.Install(phy, mac, station));
    wifi.AssignStreams(devices, 1000);
    SetUpAccess(o, devices.Get(0)->GetObject<WifiNetDevice>(), o.buffer, "ap");
    SetUpAccess(o, devices.Get(1)->GetObject<WifiNetDevice>(), 2000, "station");
    if (!o.pcap.empty())
    {
        phy.EnablePcap(o.pcap + "-air", devices.Get(0), true);
    }
    return devices;
}

void MeasureRadio(const Options& o, Ptr<Node> node, Ptr<NetDevice> device)
{
    BasicEnergySourceHelper source;
    source.Set("BasicEnergySourceInitialEnergyJ", DoubleValue(1e9));
    source.Set("BasicEnergySupplyVoltageV", DoubleValue(1));
    source.Set("PeriodicEnergyUpdateInterval", TimeValue(Seconds(10000)));
    WifiRadioEnergyModelHelper model; // By default the BA-TA paper's table 3: Broadcom 4311.
    model.Set("TxCurrentA", DoubleValue(o.transmitW));
    model.Set("RxCurrentA", DoubleValue(o.receiveW));
    model.Set("IdleCurrentA", DoubleValue(o.idleW));
    model.Set("CcaBusyCurrentA", DoubleValue(o.ccaBusyW));
    DeviceEnergyModelContainer models = model.Install(device, source.Install(node).Get(0));
    g_radio.energy = DynamicCast<WifiRadioEnergyModel>(models.Get(0));
    Ptr<WifiPhy> phy = device->GetObject<WifiNetDevice>()->GetPhy();
    PointerValue state;
    phy->GetAttribute("State", state);
    state.Get<WifiPhyStateHelper>()->TraceConnectWithoutContext("State", MakeCallback(&State));
    phy->TraceConnectWithoutContext("PhyRxPayloadBegin", MakeCallback(&PayloadBegins));
}

/// Lets a station's IP have a received packet after a delay. Without it a TCP acknowledgement is queued at the very end
/// of the data frame, before the station has sent the 802.11 ACK.
void DelayReception(Ptr<Node> node, Ptr<NetDevice> device, Time delay)
{
    Ptr<TrafficControlLayer> layer = node->GetObject<TrafficControlLayer>();
    device->SetReceiveCallback(
        Callback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&>(
            [=](Ptr<NetDevice> to, Ptr<const Packet> packet, uint16_t protocol, const Address& from) {
                const Address source = from;
                Simulator::Schedule(delay, [=] {
                    layer->Receive(to, packet->Copy(), protocol, source, to->GetAddress(), NetDevice::PACKET_HOST);
                });
                return true;
            }));
}

void StartFlow(const Options& o, Ptr<Node> server, Ptr<Node> station, Ipv4Address address)
{
    const uint16_t port = 5000;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer receiver = sink.Install(station);
    receiver.Start(Seconds(0));
    receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Received));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(address, port));
    bulk.SetAttribute("MaxBytes", UintegerValue(o.bytes));
    bulk.SetAttribute("SendSize", UintegerValue(14600));
    ApplicationContainer sender = bulk.Install(server);
    // The station has associated by then.
    g_flow.start = Seconds(1);
    sender.Start(g_flow.start);
    Simulator::Schedule(g_flow.start + NanoSeconds(1), &Watch, DynamicCast<BulkSendApplication>(sender.Get(0)));
    Simulator::Schedule(g_flow.start, [] { g_radio.energyJ = g_radio.energy->GetTotalEnergyConsumption(); });
}

void Report()
{
    std::cout.precision(9);
    const double goodputBps = 8.0 * g_flow.received / (g_flow.finished - g_flow.start).GetSeconds();
    std::cout << "{\"goodput_bps\": " << goodputBps << ", \"segments_sent\": " << g_flow.segments
              << ", \"segments_retransmitted\": " << g_flow.retransmitted << ", \"timeouts\": " << g_flow.timeouts
              << ", \"recoveries\": " << g_flow.recoveries;
    std::cout << ", \"energy_j\": " << g_radio.energyJ << ", \"header_s\": " << g_radio.headerS
              << ", \"detection_s\": " << g_radio.detectionS << ", \"state_s\": {";
    const char* separator = "";
    for (const auto& [state, seconds] : g_radio.stateS)
    {
        std::cout << separator << "\"" << state << "\": " << seconds;
        separator = ", ";
    }
    std::cout << "}, \"frames\": {";
    separator = "";
    for (const auto& [kind, count] : g_frames)
    {
        std::cout << separator << "\"" << kind << "\": " << count;
        separator = ", ";
    }
    std::cout << "}}" << std::endl;
}

void Parse(Options& o, int argc, char* argv[])
{
    CommandLine cmd(__FILE__);
    cmd.AddValue("standard", "802.11a or 802.11n", o.standard);
    cmd.AddValue("qos", "EDCA, best effort", o.qos);
    cmd.AddValue("dataMode", "Rate of data frames", o.dataMode);
    cmd.AddValue("cwMin", "Least contention window", o.cwMin);
    cmd.AddValue("cwMax", "Largest contention window", o.cwMax);
    cmd.AddValue("aifsn", "AIFS number", o.aifsn);
    cmd.AddValue("txop", "TXOP limit", o.txop);
    cmd.AddValue("down", "Rate of the wire to the access point", o.down);
    cmd.AddValue("up", "Rate of the wire to the server", o.up);
    cmd.AddValue("delay", "Delay of the wire, one way", o.delay);
    cmd.AddValue("wireQueue", "Packets that wait for the wire", o.wireQueue);
    cmd.AddValue("buffer", "Packets that wait at the access point", o.buffer);
    cmd.AddValue("bytes", "Bytes of the file", o.bytes);
    cmd.AddValue("tcp", "TypeId of the congestion control", o.tcp);
    cmd.AddValue("sack", "Selective acknowledgements", o.sack);
    cmd.AddValue("prr", "Proportional rate reduction (RFC 6937)", o.prr);
    cmd.AddValue("limitedTransmit", "RFC 3042", o.limitedTransmit);
    cmd.AddValue("delayedAcks", "Segments for each acknowledgement", o.delayedAcks);
    cmd.AddValue("delayedAckTimeout", "Longest delay of an acknowledgement", o.delayedAckTimeout);
    cmd.AddValue("receiveWindow", "Receive buffer in bytes", o.receiveWindow);
    cmd.AddValue("initialWindow", "Initial window in segments", o.initialWindow);
    cmd.AddValue("minRto", "Least retransmission timeout", o.minRto);
    cmd.AddValue("transmitW", "Power while the PHY transmits", o.transmitW);
    cmd.AddValue("receiveW", "Power while the PHY receives a payload", o.receiveW);
    cmd.AddValue("idleW", "Power while the PHY is idle", o.idleW);
    cmd.AddValue("ccaBusyW", "Power while the PHY is CCA-busy", o.ccaBusyW);
    cmd.AddValue("hostDelay", "Time from a station's reception of a frame until its IP has the packet", o.hostDelay);
    cmd.AddValue("seed", "Number of the run", o.seed);
    cmd.AddValue("pcap", "Prefix of capture files", o.pcap);
    cmd.Parse(argc, argv);
}

} // namespace

int main(int argc, char* argv[])
{
    Options& o = g_options;
    Parse(o, argc, argv);
    Defaults(o);

    NodeContainer wired(2); // The server, and the access point.
    NodeContainer stations(1);
    MobilityHelper mobility;
    mobility.Install(wired);
    mobility.Install(stations);
    stations.Get(0)->GetObject<MobilityModel>()->SetPosition(Vector(4, 0, 0));

    PointToPointHelper wire;
    wire.SetChannelAttribute("Delay", TimeValue(o.delay));
    wire.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, o.wireQueue)));
    NetDeviceContainer wireDevices = wire.Install(wired);
    wireDevices.Get(0)->SetAttribute("DataRate", StringValue(o.down));
    wireDevices.Get(1)->SetAttribute("DataRate", StringValue(o.up));
    NetDeviceContainer cell = Cell(o, wired.Get(1), stations.Get(0));
    MeasureRadio(o, stations.Get(0), cell.Get(1));
    if (!o.pcap.empty())
    {
        wire.EnablePcap(o.pcap + "-server", wireDevices.Get(0));
    }

    InternetStackHelper internet;
    internet.Install(wired);
    internet.Install(stations);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(wireDevices);
    addresses.NewNetwork();
    Ipv4InterfaceContainer cellAddresses = addresses.Assign(cell);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    // Without a queueing discipline packets wait in the queues of the devices, which are those of the job.
    TrafficControlHelper none;
    none.Uninstall(wireDevices);
    none.Uninstall(cell);

    if (!o.hostDelay.IsZero())
    {
        DelayReception(stations.Get(0), cell.Get(1), o.hostDelay);
    }

    StartFlow(o, wired.Get(0), stations.Get(0), cellAddresses.GetAddress(1));
    Simulator::Stop(Seconds(3600));
    Simulator::Run();
    Report();
    Simulator::Destroy();
    return 0;
}
