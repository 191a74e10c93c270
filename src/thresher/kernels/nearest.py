"""What a pixel was like before: how near it is to what was kept, pixel by pixel."""

from thresher.kernels.compiling import kernel


@kernel
def lower_to_third_nearest(picture, cells, side, kept, usual, sizes):  # type: ignore[no-untyped-def]
    """Lower sizes above the usual to the third smallest distance from what was kept, in place.

    Parameters
    ----------
    picture : array of shape (height, width, colours)
    cells : array of shape (height / side, width / side, colours)
        The light that what is kept is seen in.
    side : int
    kept : array of shape (n, height, width, colours)
        Ratios to the light. The distance of a pixel is that of its colour that is furthest away.
    usual, sizes : arrays of shape (height, width)
    """
    height, width, colours = picture.shape
    for row in range(height):
        for column in range(width):
            third = sizes[row, column]
            if third <= usual[row, column]:
                continue
            first = second = third
            for i in range(kept.shape[0]):
                far = picture.dtype.type(0)
                for colour in range(colours):
                    light = cells[row // side, column // side, colour]
                    seen = light * kept[i, row, column, colour]
                    far = max(far, abs(picture[row, column, colour] - seen))
                third = min(third, max(second, far))
                second = min(second, max(first, far))
                first = min(first, far)
            sizes[row, column] = third
