/** UDP port of the networks between hosts, apart from those of other programs (4789). */
export const VXLAN_PORT = 4790
