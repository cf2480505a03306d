/** The two ways in which a physical GPU is given out. */
export type DeviceSlot = 'cuda.device' | 'cuda.shares'

export const DEVICE_SLOTS: readonly DeviceSlot[] = ['cuda.device', 'cuda.shares']
