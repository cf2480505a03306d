/** Entries of the menu of a file. */
export type MenuAction =
  | 'open'
  | 'download'
  | 'rename'
  | 'move'
  | 'copyTo'
  | 'cut'
  | 'copy'
  | 'paste'
  | 'delete'
  | 'copyPath'
