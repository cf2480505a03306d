/** Whether Windows takes a name of a file for that of a device, whatever its case and ending: `CON`, `aux.txt`. */
export const isNameOfDevice = (name: string): boolean => DEVICE.test(name)

/** @see https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i
