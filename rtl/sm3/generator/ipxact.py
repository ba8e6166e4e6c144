"""What peakrdl's IP-XACT lacks of a component: its bus interface, ports, parameters and files."""

import xml.etree.ElementTree as ET

NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
BUS = {"vendor": "amba.com", "library": "AMBA3", "version": "r2p0_0"}
# Ports that carry the bus; the names are the standard's, but for the select.
SELECT = {"HSEL": "HSELx"}
# Legal values of the parameters beside the default.
CHOICES = {"ROUNDS_PER_CYCLE": ("1", "2"), "INPUT_BUFFER": ("0", "1"), "V_IN_RAM": ("0", "1")}
MEANINGS = {
    "ROUNDS_PER_CYCLE": "Rounds of the compression in a clock cycle: 68 or 34 cycles a block.",
    "INPUT_BUFFER": "1: a block can be written while the core has no room for it yet.",
    "V_IN_RAM": "1: V lies in memories with asynchronous reading, for FPGAs that have them.",
}


def component(exported, parameters, ports, sources, origin):
    """The component as text: peakrdl's export with the rest in the schema's order."""
    ET.register_namespace("ipxact", NAMESPACE)
    ET.register_namespace("xsi", "http://www.w3.org/2001/XMLSchema-instance")
    root = ET.fromstring(exported)
    for description in root.iter(tag("description")):
        description.text = " ".join(description.text.split())
    place = list(root).index(root.find(tag("memoryMaps")))
    memory_map = root.find(f"{tag('memoryMaps')}/{tag('memoryMap')}/{tag('name')}").text
    root.insert(place, bus_interface(ports, memory_map))
    root.append(model(ports, parameters))
    root.append(choices(parameters))
    root.append(file_sets(sources))
    add(root, "description", "SM3 hash core with an AHB-Lite slave interface")
    root.append(component_parameters(parameters))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=False)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {origin} -->\n{text}\n'


def tag(name):
    return f"{{{NAMESPACE}}}{name}"


def add(parent, kind, text=None, **attributes):
    child = ET.SubElement(parent, tag(kind), attributes)
    child.text = None if text is None else str(text)
    return child


def bus_interface(ports, memory_map):
    interfaces = ET.Element(tag("busInterfaces"))
    interface = add(interfaces, "busInterface")
    add(interface, "name", "ahb")
    add(interface, "busType", name="AHBLite", **BUS)
    abstraction = add(add(interface, "abstractionTypes"), "abstractionType")
    add(abstraction, "abstractionRef", name="AHBLite_rtl", **BUS)
    maps = add(abstraction, "portMaps")
    for port in ports:
        if port.name.startswith("H"):
            pair = add(maps, "portMap")
            add(add(pair, "logicalPort"), "name", SELECT.get(port.name, port.name))
            add(add(pair, "physicalPort"), "name", port.name)
    add(add(interface, "slave"), "memoryMapRef", memoryMapRef=memory_map)
    return interfaces


def model(ports, parameters):
    root = ET.Element(tag("model"))
    view = add(add(root, "views"), "view")
    add(view, "name", "rtl")
    add(view, "componentInstantiationRef", "verilog")
    instance = add(add(root, "instantiations"), "componentInstantiation")
    add(instance, "name", "verilog")
    add(instance, "language", "Verilog")
    add(instance, "moduleName", "sm3_ahb")
    values = add(instance, "moduleParameters")
    for name in parameters:
        value = add(values, "moduleParameter", dataType="integer")
        add(value, "name", name)
        add(value, "value", name)
    add(add(instance, "fileSetRef"), "localName", "rtl")
    listed = add(root, "ports")
    for port in ports:
        entry = add(listed, "port")
        add(entry, "name", port.name)
        wire = add(entry, "wire")
        add(wire, "direction", port.way)
        if port.width > 1:
            vector = add(add(wire, "vectors"), "vector")
            add(vector, "left", port.width - 1)
            add(vector, "right", 0)
    return root


def choices(parameters):
    root = ET.Element(tag("choices"))
    for name in parameters:
        choice = add(root, "choice")
        add(choice, "name", f"{name}_VALUES")
        for value in CHOICES[name]:
            add(choice, "enumeration", value)
    return root


def file_sets(sources):
    root = ET.Element(tag("fileSets"))
    file_set = add(root, "fileSet")
    add(file_set, "name", "rtl")
    for source in sources:
        file = add(file_set, "file")
        add(file, "name", f"../src/{source}")
        add(file, "fileType", "verilogSource")
    return root


def component_parameters(parameters):
    root = ET.Element(tag("parameters"))
    for name, default in parameters.items():
        parameter = add(
            root,
            "parameter",
            parameterId=name,
            resolve="user",
            type="int",
            choiceRef=f"{name}_VALUES",
        )
        add(parameter, "name", name)
        add(parameter, "description", MEANINGS[name])
        add(parameter, "value", default)
    return root
