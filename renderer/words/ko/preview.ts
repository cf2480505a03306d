import type en from '../en/preview.ts'
import { type Translation } from '../message-types.ts'

export default {
  content: '파일의 내용',
  edit: '편집',
  beginning: '{total} 중 처음 {size}만 표시합니다. 전체를 보려면 파일을 다운로드하세요.',
  cutLines: '브라우저에서 표시하는 데 오래 걸리는 아주 긴 줄은 일부만 표시합니다. 전체를 보려면 파일을 다운로드하세요.',
  encoding: '인코딩',
  otherEncoding:
    'UTF-8이 아닌 텍스트입니다. 추정한 인코딩으로 표시하며, 저장하면 인코딩이 바뀌므로 여기에서 편집할 수 없습니다.',
  'encoding_utf-8': 'UTF-8',
  'encoding_utf-16le': 'UTF-16 LE',
  'encoding_utf-16be': 'UTF-16 BE',
  'encoding_euc-kr': '한국어 (CP949)',
  'encoding_windows-1252': '서유럽어 (Latin-1)',
  noPreview: '이 파일은 미리 볼 수 없습니다. 다운로드하여 컴퓨터에서 여세요.',
  noNotebook: '완전한 노트북 파일이 아닙니다. 다운로드하거나 세션에서 여세요.',
  noPdfViewer: '이 브라우저에는 PDF 뷰어가 없습니다. 파일을 다운로드하세요.',
  output: '출력의 그림',
  row: '행',
  saved: '{name} 저장함',
  binaryNow: '파일에 더 이상 텍스트가 없습니다.',
  changedTitle: '그사이 파일이 변경되었습니다',
  changedText: '파일을 연 뒤에 다른 사용자나 세션이 파일을 저장했습니다.',
  yours: '내 버전',
  theirs: '폴더에 있는 버전',
  overwrite: '내 버전으로 덮어쓰기',
  saveCopy: '내 버전을 복사본으로 저장',
  leaveTitle: '{name}: 저장하지 않고 나갈까요?',
  leaveText: '변경한 내용이 저장되지 않고 사라집니다.',
  stay: '계속 편집',
  discardChanges: '변경 사항 버리기',
} satisfies Translation<typeof en>
