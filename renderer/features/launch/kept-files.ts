/** What becomes of the files of a session, said before it is launched. */
export const KEPT_FILES =
  'When the session ends, its home folder is kept for about a day while there is room; other files are deleted. Copy out what you want to keep.'
