/**
 * `GET SFTP_PATH` opens an SFTP connection to the folders of the signed-in user: a WebSocket with the subprotocol
 * `berth.tunnel.v1` (`tunnel/`), whose bytes are SFTP, version 3. The top directory lists the folders.
 */
export const SFTP_PATH = '/stream/folders/sftp'
