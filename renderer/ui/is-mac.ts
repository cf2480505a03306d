/** Whether this is a Mac keyboard: Option types characters there, and Command does what Ctrl does elsewhere. */
export const isMac = (platform: string = navigator.platform): boolean => /^(Mac|iPad|iPhone|iPod)/.test(platform)
