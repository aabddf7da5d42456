from pathlib import Path

import pytest

from tamis.broker.errors import ConflictError, InvalidError
from tamis.spark_sink.archive_place import Place


def test_a_path_is_one_of_this_machine_and_a_url_is_left_alone(tmp_path: Path) -> None:
    assert Place.at(str(tmp_path)).url == f"file:{tmp_path}"
    assert Place.at(f"file://{tmp_path}").folder == tmp_path
    assert Place.at("s3a://bucket/tamis/") == Place("s3a://bucket/tamis")
    assert Place.at("s3a://bucket/tamis").folder is None


def test_of_two_on_one_machine_the_second_is_refused_until_the_first_has_gone(tmp_path: Path) -> None:
    place = Place.at(str(tmp_path))
    with place.locked(), pytest.raises(ConflictError, match="Another process"), place.locked():
        pass
    with Place.at(str(tmp_path)).locked():
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = Place.at(str(tmp_path / "file" / "below"))
    with pytest.raises(InvalidError, match=f"{tmp_path}/file/below"), place.locked():
        pass
    with pytest.raises(InvalidError, match="empty"):
        Place.at(" ")
